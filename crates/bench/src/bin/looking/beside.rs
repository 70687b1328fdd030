//! Ways to look at a server under load, in turns: how many stacks are complete and named, and what looking costs.

use std::time::Duration;

use ciphertax_bench::{Document, Ground, Result, Slice, TABLES, Table};
use ciphertax_engine::Engine;
use ciphertax_explain::why::categories::Rules;
use ciphertax_model::{CertificateKind, Direction, Load, Transport};
use ciphertax_profile::affordable_hz;
use ciphertax_stats::both_baselines::compare;
use ciphertax_stats::format::{ABSENT, change_with_interval, share_of};
use ciphertax_stats::paired::log_ratios;
use ciphertax_stats::{BalancedOrder, Estimate, Interval};
use ciphertax_workload::sql::PointSelect;

use crate::looker::Looker;
use crate::ours::{OurSamples, OurWaits, WAITS_HZ};
use crate::peers::{GdbLook, PerfSamples};
use crate::way::Way;

pub(crate) const SLICE: Duration = Duration::from_millis(500);
const CONNECTIONS: u32 = 8;
/// As runs ask for them, and what they may cost.
const HZ: u32 = 997;
const HZ_OR_FEWER: [u32; 4] = [HZ, 499, 331, 211];
const SHARE: f64 = 0.02;
const FRAME_POINTERS: &[&str] = &["-e", "cpu-clock", "-F", "997", "-g"];
const DWARF: &[&str] = &["-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf,32768"];
/// Their places among the ways.
const NOBODY: usize = 0;
const NOBODY_AGAIN: usize = 1;

/// Measures so many blocks, each with a slice of every way, and adds what they say.
pub(crate) fn measure(document: &mut Document, blocks: u32) -> Result<()> {
    let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
    document.fact("server beside perf and gdb", ground.identity()?);
    let word = ground.servers_word(Transport::Tls13)?;
    document.fact(
        "load beside perf and gdb",
        format!(
            "prepared point select, {CONNECTIONS} connections, {word}; {blocks} blocks of a slice of {SLICE:?} of each way, in turns"
        ),
    );
    let version = ground.query("SELECT @@version", 1)?.concat().concat();
    let rules = Rules::of_server(&version);
    let workload = PointSelect {
        access: ground.access(Transport::Tls13)?,
        tables: TABLES,
    };
    let mut engine = Engine::start(vec![workload], &Load::closed(CONNECTIONS), 1)?;
    let mut ways = ways();
    let server = ground.server().pids()[0];
    // The first reads symbols and fills caches, and counts for nothing.
    for (block, order) in BalancedOrder::new(ways.len(), 1)
        .take(blocks as usize + 1)
        .enumerate()
    {
        for index in order {
            let way = &mut ways[index];
            way.begin(server);
            let slice = Slice::measure(ground.cpu(), &mut engine, 0, SLICE)?;
            way.end(&rules, (block > 0).then_some(&slice));
        }
        eprintln!("block {block} of {blocks}");
    }
    document.table("Beside perf and gdb, on the same server", &table(&ways)?);
    Ok(())
}

fn ways() -> Vec<Way> {
    let samples = |hz, why| -> (String, Result<Box<dyn Looker>>) {
        let looker = OurSamples::open(hz, SLICE).map(|looker| Box::new(looker) as Box<dyn Looker>);
        (format!("ciphertax, {hz} samples a second{why}"), looker)
    };
    let peer = |name: &str, looker: Box<dyn Looker>| (name.to_owned(), Ok(looker));
    let waits = OurWaits::open().map(|looker| Box::new(looker) as Box<dyn Looker>);
    let mut all = vec![samples(HZ, "")];
    let affordable = affordable_hz(&HZ_OR_FEWER, SHARE);
    if affordable != HZ {
        all.push(samples(affordable, ", as runs here"));
    }
    all.extend([
        (format!("ciphertax, waits, {WAITS_HZ} looks a second"), waits),
        peer(
            "`perf record -F 997 -g`",
            Box::new(PerfSamples::with(FRAME_POINTERS)),
        ),
        peer(
            "`perf record -F 997 --call-graph dwarf,32768`",
            Box::new(PerfSamples::with(DWARF)),
        ),
        peer(
            "gdb as pt-pmp calls it, one look a slice",
            Box::<GdbLook>::default(),
        ),
    ]);
    let nobody = ["nobody", "nobody, again"].map(Way::without);
    let looking = all.into_iter().map(|(name, looker)| Way::by(name, looker));
    nobody.into_iter().chain(looking).collect()
}

fn table(ways: &[Way]) -> Result<Table> {
    let mut table = Table::new(&[
        "who looks",
        "server CPU per operation",
        "throughput",
        "server stopped for, s",
        "stacks",
        "complete",
        "with a category",
        "cryptography with a purpose",
        "lost",
    ]);
    for (index, way) in ways.iter().enumerate().filter(|(index, _)| *index != NOBODY) {
        let seen = &way.seen;
        let share = |count: u64, all: u64| match all {
            0 => ABSENT.to_owned(),
            all => share_of(count as f64 / all as f64),
        };
        let count = |count: u64| match seen.stacks {
            0 => ABSENT.to_owned(),
            _ => count.to_string(),
        };
        if let Some(problem) = &way.problem {
            let dashes = std::iter::repeat_n(ABSENT.to_owned(), 8);
            table.row(std::iter::once(format!("{}: {problem}", way.name)).chain(dashes));
            continue;
        }
        table.row([
            way.name.clone(),
            change(ways, index, Direction::HigherCosts, Way::server_us)?,
            change(ways, index, Direction::LowerCosts, Way::throughput)?,
            format!("{:.2}", seen.stopped),
            count(seen.stacks),
            share(seen.complete, seen.stacks),
            seen.with_category
                .map_or(ABSENT.into(), |known| share(known, seen.stacks)),
            share(seen.with_purpose, seen.cryptography),
            count(seen.lost),
        ]);
    }
    Ok(table)
}

/// A figure of a way beside both series of slices in which nobody looks, as a run compares a variant; of the second of these, beside
/// the first.
fn change(ways: &[Way], index: usize, direction: Direction, of: fn(&Way) -> &[f64]) -> Result<String> {
    let [nobody, again, own] = [NOBODY, NOBODY_AGAIN, index].map(|index| of(&ways[index]));
    let estimate = if index == NOBODY_AGAIN {
        Estimate::robust_of_log_ratios(&log_ratios(nobody, again)?)?
    } else {
        let blocks = nobody.iter().zip(again).zip(own);
        let blocks: Vec<[f64; 3]> = blocks
            .map(|((nobody, again), own)| [nobody, again, own].map(|value| value.ln()))
            .collect();
        compare(&blocks, direction)?.estimate
    };
    Ok(change_with_interval(Interval {
        value: estimate.change,
        low: estimate.low,
        high: estimate.high,
    }))
}
