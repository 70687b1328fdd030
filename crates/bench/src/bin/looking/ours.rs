//! The product's own ways.

use std::time::Duration;

use ciphertax_bench::Result;
use ciphertax_explain::why::categories::Rules;
use ciphertax_profile::{CpuProfiler, Stacks, WaitSampler, Watched};
use ciphertax_records::SliceId;
use ciphertax_records::why::{ProfiledSide, SymbolTable, Waits};

use crate::looker::{Looker, Seen};

/// Looks a second at all threads, as runs have them.
pub(crate) const WAITS_HZ: u32 = 97;

/// Samples of what runs.
pub(crate) struct OurSamples {
    profiler: CpuProfiler,
    stacks: Stacks,
    symbols: SymbolTable,
}

impl OurSamples {
    /// So many a second of CPU time, in slices of this length.
    pub(crate) fn open(hz: u32, slice: Duration) -> Result<Self> {
        Ok(Self {
            profiler: CpuProfiler::open(hz, slice)?,
            stacks: Stacks::default(),
            symbols: SymbolTable::default(),
        })
    }
}

impl Looker for OurSamples {
    fn begin(&mut self, server: u32) -> Result<()> {
        Ok(self.profiler.begin(&watched(server), &mut self.stacks)?)
    }

    fn end(&mut self, rules: &Rules, seen: &mut Seen) -> Result<()> {
        self.profiler.stop();
        let slice = SliceId::default();
        let profile = self
            .profiler
            .profile(slice, &mut self.stacks, &mut self.symbols)?;
        let side = profile.sides.get(&ProfiledSide::Server);
        let side = side.ok_or("the server was not sampled")?;
        for (stack, count) in &side.stacks {
            let names: Vec<(&str, &str)> = self.symbols.names(*stack).collect();
            seen.count(rules, &names, *count);
        }
        seen.complete += side.complete;
        seen.lost += side.lost;
        Ok(())
    }
}

/// Looks at what waits.
pub(crate) struct OurWaits {
    sampler: WaitSampler,
    stacks: Stacks,
    symbols: SymbolTable,
}

impl OurWaits {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self {
            sampler: WaitSampler::open(WAITS_HZ)?,
            stacks: Stacks::default(),
            symbols: SymbolTable::default(),
        })
    }

    pub(crate) fn stop(&mut self) {
        self.sampler.stop();
    }

    /// What was seen since it began, and the names of it.
    pub(crate) fn waits(&mut self) -> Result<(Waits, &SymbolTable)> {
        let slice = SliceId::default();
        let waits = self.sampler.waits(slice, &mut self.stacks, &mut self.symbols)?;
        Ok((waits, &self.symbols))
    }
}

impl Looker for OurWaits {
    fn begin(&mut self, server: u32) -> Result<()> {
        Ok(self.sampler.begin(&watched(server), &mut self.stacks)?)
    }

    fn end(&mut self, _rules: &Rules, seen: &mut Seen) -> Result<()> {
        self.stop();
        let (waits, _) = self.waits()?;
        // Threads that serve no session have stacks too, which other ways show as well.
        for blocked in &waits.blocked {
            seen.stacks += blocked.seen;
            seen.complete += blocked.complete;
        }
        Ok(())
    }
}

fn watched(server: u32) -> Watched {
    Watched {
        server: vec![server],
        ..Watched::default()
    }
}
