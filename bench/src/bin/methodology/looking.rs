//! What looking into a server costs it: slices in which somebody looks against slices in which nobody does, and how many
//! of the stacks are complete and named.

use std::time::Duration;

use ciphertax_base::format::{ABSENT, change_with_interval, share_of};
use ciphertax_base::{Direction, Interval};
use ciphertax_bench::{Document, Figures, MariadbGround, Repeats, Result, Slice, Table};
use ciphertax_engine::Engine;
use ciphertax_explain::why::categories::Rules;
use ciphertax_model::{Load, Transport};
use ciphertax_profile::{CpuProfiler, Stacks, WaitSampler, Watched, affordable_hz};
use ciphertax_records::SliceId;
use ciphertax_records::why::{ProfiledSide, SymbolTable};
use ciphertax_stats::both_baselines::compare;
use ciphertax_stats::paired::log_ratios;
use ciphertax_stats::{BalancedOrder, Estimate};

use crate::point_selects;

const SLICE: Duration = Duration::from_millis(500);
const CONNECTIONS: u32 = 8;
/// Samples a second of CPU time, as runs ask for them, and what they may cost.
const HZ: u32 = 997;
const HZ_OR_FEWER: [u32; 4] = [HZ, 499, 331, 211];
const SHARE: f64 = 0.02;
/// Looks a second at all threads, as runs have them.
const WAITS_HZ: u32 = 97;
/// Their places among the ways.
const NOBODY: usize = 0;
const NOBODY_AGAIN: usize = 1;

/// What the categories of ciphers, hashes and public keys end in, whatever these are for, and the one of those of which that is not
/// known.
const CRYPTOGRAPHY: [&str; 3] = [": cipher", ": hashes", ": public key"];
const WITHOUT_PURPOSE: &str = "other cryptography";

/// Who looks.
#[derive(Default)]
enum Looker {
    #[default]
    Nobody,
    /// Samples of what runs.
    Samples(CpuProfiler),
    /// What each thread waits in.
    Waits(WaitSampler),
}

/// A way to look, or not to, and what came of it.
#[derive(Default)]
struct Way {
    name: String,
    looker: Looker,
    stacks: Stacks,
    symbols: SymbolTable,
    seen: Seen,
    figures: Figures,
}

/// What was seen in some slices.
#[derive(Default)]
struct Seen {
    /// Stacks.
    stacks: u64,
    /// Those that were unwound to the begin of their thread.
    complete: u64,
    /// Those whose category the rules know; `None` where stacks are not of CPU time, which the rules are for.
    with_category: Option<u64>,
    /// Those of cryptography, and those of these of which the callers tell what it is for.
    cryptography: u64,
    with_purpose: u64,
    /// Samples that there was no room for.
    lost: u64,
}

/// Measures so many blocks, each with a slice of every way.
pub(crate) fn measure(document: &mut Document, blocks: u32) -> Result<()> {
    let mut ground = MariadbGround::prepare()?;
    document.fact("server", &ground.identity);
    let word = ground.servers_word(Transport::Tls13)?;
    let asked = format!(
        "prepared point select, {CONNECTIONS} connections, {word}; {blocks} blocks of a slice of {SLICE:?} of each way, in turns"
    );
    document.fact("asked", asked);
    let version = ground.ask("SELECT @@version")?;
    let rules = Rules::of_server(&version);
    let arms = point_selects(&ground, &[Transport::Tls13])?;
    let mut engine = Engine::start(arms, &Load::closed(CONNECTIONS), 1)?;
    let mut ways = ways()?;
    let server = ground.server.pids()[0];
    // The first reads symbols and fills caches, and counts for nothing.
    for (block, order) in BalancedOrder::new(ways.len(), 1)
        .take(blocks as usize + 1)
        .enumerate()
    {
        for index in order {
            let way = &mut ways[index];
            way.begin(server)?;
            let slice = Slice::measure(&ground.cpu, &mut engine, 0, SLICE)?;
            way.end(&rules)?;
            if block == 0 {
                way.seen = Seen::default();
                continue;
            }
            way.figures.0.push(slice.turn);
        }
        eprintln!("block {block} of {blocks}");
    }
    document.paragraph(
        "Changes are those of slices in which somebody looks against slices in which nobody does, paired by block, with their 95 % \
         interval; what is done before and after a slice (reading symbols, unwinding) is not in it. A stack is complete if it \
         was unwound to the function that its thread begins in. A category is what the product's rules say of the names in it. \
         Cryptography has a purpose if the stack goes up to what calls it: records, handshakes, logins. Stacks of waits are those of \
         all threads, most of which wait, so they have no category. Lost are samples that there was no room for.",
    );
    document.table("What looking costs, and what is seen", &table(&ways)?);
    Ok(())
}

fn ways() -> Result<Vec<Way>> {
    let samples = |hz: u32, why: &str| -> Result<Way> {
        let looker = Looker::Samples(CpuProfiler::open(hz, SLICE)?);
        Ok(Way::new(format!("{hz} samples a second{why}"), looker))
    };
    let mut ways = vec![
        Way::new("nobody", Looker::Nobody),
        Way::new("nobody, again", Looker::Nobody),
        samples(HZ, "")?,
    ];
    let affordable = affordable_hz(&HZ_OR_FEWER, SHARE);
    if affordable != HZ {
        ways.push(samples(affordable, ", as runs here")?);
    }
    let waits = Looker::Waits(WaitSampler::open(WAITS_HZ)?);
    ways.push(Way::new(format!("waits, {WAITS_HZ} looks a second"), waits));
    Ok(ways)
}

impl Way {
    fn new(name: impl Into<String>, looker: Looker) -> Self {
        Self {
            name: name.into(),
            looker,
            ..Self::default()
        }
    }

    /// Begins to look at the server with this process number.
    fn begin(&mut self, server: u32) -> Result<()> {
        let watched = Watched {
            server: vec![server],
            ..Watched::default()
        };
        match &mut self.looker {
            Looker::Nobody => {}
            Looker::Samples(profiler) => profiler.begin(&watched, &mut self.stacks)?,
            Looker::Waits(sampler) => sampler.begin(&watched, &mut self.stacks)?,
        }
        Ok(())
    }

    /// Ends that, and adds what was seen.
    fn end(&mut self, rules: &Rules) -> Result<()> {
        let (stacks, symbols, seen) = (&mut self.stacks, &mut self.symbols, &mut self.seen);
        let slice = SliceId::default();
        match &mut self.looker {
            Looker::Nobody => {}
            Looker::Samples(profiler) => {
                profiler.stop();
                let profile = profiler.profile(slice, stacks, symbols)?;
                let side = profile.sides.get(&ProfiledSide::Server);
                let side = side.ok_or("the server was not sampled")?;
                for (stack, count) in &side.stacks {
                    let names: Vec<(&str, &str)> = symbols.names(*stack).collect();
                    seen.count(rules, &names, *count);
                }
                seen.complete += side.complete;
                seen.lost += side.lost;
            }
            Looker::Waits(sampler) => {
                sampler.stop();
                for blocked in &sampler.waits(slice, stacks, symbols)?.blocked {
                    seen.stacks += blocked.seen;
                    seen.complete += blocked.complete;
                }
            }
        }
        Ok(())
    }
}

impl Seen {
    /// Adds so many stacks of CPU time that are the same.
    fn count(&mut self, rules: &Rules, stack: &[(&str, &str)], count: u64) {
        self.stacks += count;
        let known = self.with_category.get_or_insert(0);
        let Some(category) = rules.category(stack) else {
            return;
        };
        *known += count;
        let has_purpose = CRYPTOGRAPHY.iter().any(|kind| category.ends_with(kind));
        if has_purpose || category == WITHOUT_PURPOSE {
            self.cryptography += count;
            self.with_purpose += if has_purpose { count } else { 0 };
        }
    }
}

fn table(ways: &[Way]) -> Result<Table> {
    let mut table = Table::new(
        "who looks | server CPU per operation | throughput | stacks | complete | with a category | cryptography with a purpose | lost",
    );
    for (index, way) in ways.iter().enumerate().skip(NOBODY_AGAIN) {
        let seen = &way.seen;
        let share = |count: u64, all: u64| match all {
            0 => ABSENT.to_owned(),
            all => share_of(count as f64 / all as f64),
        };
        let count = |count: u64| match seen.stacks {
            0 => ABSENT.to_owned(),
            _ => count.to_string(),
        };
        let (stacks, lost) = (count(seen.stacks), count(seen.lost));
        let complete = share(seen.complete, seen.stacks);
        let known = seen
            .with_category
            .map_or(ABSENT.into(), |known| share(known, seen.stacks));
        let purpose = share(seen.with_purpose, seen.cryptography);
        let server = change(ways, index, Direction::HigherCosts, Figures::server_us)?;
        let throughput = change(ways, index, Direction::LowerCosts, Figures::throughput)?;
        table.row(&format!(
            "{} | {server} | {throughput} | {stacks} | {complete} | {known} | {purpose} | {lost}",
            way.name
        ));
    }
    Ok(table)
}

/// A figure of a way beside both series of slices in which nobody looks, as a run compares a variant; of the second of these, beside
/// the first.
fn change(ways: &[Way], index: usize, direction: Direction, of: fn(&Figures) -> Repeats) -> Result<String> {
    let [nobody, again, own] = [NOBODY, NOBODY_AGAIN, index].map(|index| of(&ways[index].figures));
    let estimate = if index == NOBODY_AGAIN {
        Estimate::robust_of_log_ratios(&log_ratios(&nobody.0, &again.0)?)?
    } else {
        let blocks = nobody.0.iter().zip(&again.0).zip(&own.0);
        let blocks: Vec<[f64; 3]> = blocks
            .map(|((nobody, again), own)| [nobody, again, own].map(|value| value.ln()))
            .collect();
        compare(&blocks, direction)?.estimate
    };
    let (value, low, high) = (estimate.change, estimate.low, estimate.high);
    Ok(change_with_interval(Interval { value, low, high }))
}
