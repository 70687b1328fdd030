//! What the tests share: a profiler with its tables, and what a profile says.

use std::collections::HashMap;
use std::time::Duration;

use ciphertax_profile::{CpuProfiler, Stacks, Watched};
use ciphertax_records::SliceId;
use ciphertax_records::why::{Profile, ProfiledSide, SideProfile, SymbolTable};
use ciphertax_testkit::not_tested;

pub(crate) const HZ: u32 = 997;

/// Slices of up to this length fit into the rings.
pub(crate) const SLICE: Duration = Duration::from_millis(500);

/// A profiler with all that it needs.
pub(crate) struct Bed {
    pub(crate) profiler: CpuProfiler,
    pub(crate) stacks: Stacks,
    pub(crate) symbols: SymbolTable,
}

impl Bed {
    /// `None` where the kernel refuses.
    #[track_caller]
    pub(crate) fn new() -> Option<Self> {
        Self::with(HZ, SLICE)
    }

    #[track_caller]
    pub(crate) fn with(hz: u32, slice: Duration) -> Option<Self> {
        match CpuProfiler::open(hz, slice) {
            Ok(profiler) => Some(Self {
                profiler,
                stacks: Stacks::default(),
                symbols: SymbolTable::default(),
            }),
            Err(error) => {
                not_tested(error);
                None
            }
        }
    }

    /// What runs during some work.
    pub(crate) fn profile<T>(&mut self, watched: &Watched, work: impl FnOnce() -> T) -> (Profile, T) {
        self.profiler.begin(watched, &mut self.stacks).unwrap();
        let outcome = work();
        self.profiler.stop();
        (self.end(), outcome)
    }

    pub(crate) fn end(&mut self) -> Profile {
        let slice = SliceId {
            cell: "cell".to_owned(),
            block: 0,
            position: 0,
            arm: "arm".to_owned(),
        };
        self.profiler
            .profile(slice, &mut self.stacks, &mut self.symbols)
            .unwrap()
    }

    /// How many samples have a function, wherever in the stack, by each name and module that occurs.
    pub(crate) fn functions(&self, side: &SideProfile) -> HashMap<(String, String), u64> {
        let mut functions = HashMap::new();
        for (stack, count) in &side.stacks {
            let mut names: Vec<_> = self.symbols.names(*stack).collect();
            names.sort_unstable();
            names.dedup();
            for (name, module) in names {
                *functions.entry((name.to_owned(), module.to_owned())).or_default() += count;
            }
        }
        functions
    }

    /// How many samples have a function whose name ends so.
    pub(crate) fn samples_in(&self, side: &SideProfile, function: &str) -> u64 {
        let has = |stack: &u32| {
            self.symbols
                .names(*stack)
                .any(|(name, _)| name.ends_with(function))
        };
        let stacks = side.stacks.iter().filter(|(stack, _)| has(stack));
        stacks.map(|(_, count)| count).sum()
    }
}

/// The profile of a side, which must add up.
#[track_caller]
pub(crate) fn side(profile: &Profile, side: ProfiledSide) -> &SideProfile {
    let side = &profile.sides[&side];
    assert_eq!(side.stacks.values().sum::<u64>(), side.samples);
    assert!(side.complete <= side.samples);
    side
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// CPU time that this thread has used.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The number of this thread.
pub(crate) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_pid().cast_unsigned()
}
