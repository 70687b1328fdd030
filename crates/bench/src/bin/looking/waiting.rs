//! The wait sampler beside records of switches, in the same slices of one server.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ciphertax_bench::{Document, Ground, Repeats, Result, TABLES};
use ciphertax_engine::Engine;
use ciphertax_lab::catalogue::MARIADB_10_2;
use ciphertax_lab::{PrivateServer, install};
use ciphertax_model::{Load, Storage, Transport};
use ciphertax_observe::RunQueueWaits;
use ciphertax_workload::sql::{Oltp, Scenario};
use rustix::time::{ClockId, clock_gettime};

use crate::looker::Looker;
use crate::ours::{OurWaits, WAITS_HZ};
use crate::perf::Recording;
use crate::sessions::{self, Ways};
use crate::states;
use crate::switches::{ONE_IN, Switches};

const SLICE: Duration = Duration::from_secs(2);
const CONNECTIONS: u32 = 16;
const STORAGE: Storage = Storage {
    memory_mb: None,
    flush: None,
    flush_log_at_trx_commit: Some(1),
    binary_log: true,
    sync_binlog: Some(1),
    doublewrite: None,
};
const UNCOUNTED: &str = "the kernel counts no waits for a CPU";
/// A ring large enough for the stacks of a burst of switches, and the clock of this process.
const SWITCHES: &[&str] = &[
    "-e",
    "context-switches",
    "-c",
    "13",
    "--call-graph",
    "dwarf,16384",
    "--switch-events",
    "-m",
    "32M",
    "--clockid",
    "CLOCK_MONOTONIC",
];

/// What one slice says.
struct Slice {
    ways: Ways,
    /// Operations a second.
    throughput: f64,
    /// Waits of sessions a second.
    waits: f64,
    /// From being woken up to having a CPU, on average.
    wake_up_us: f64,
    /// Time in waits with a stack times how many each stands for, by the time in all.
    stand_for: f64,
    /// Records that there was no room for.
    lost: f64,
}

/// Measures so many slices, and adds what they say.
pub(crate) fn measure(document: &mut Document, slices: u32) -> Result<()> {
    install(&MARIADB_10_2, &AtomicBool::new(false), &mut |_| {})?;
    let server = PrivateServer::builder(&MARIADB_10_2)
        .without_tls()
        .storage(STORAGE);
    let mut ground = Ground::prepare_on(server, &TABLES.dataset)?;
    document.fact("server beside records of switches", ground.identity()?);
    document.fact(
        "load beside records of switches",
        format!(
            "`oltp_update_non_index`, {CONNECTIONS} connections, plain, {STORAGE}; {slices} slices of {SLICE:?}, both ways at once"
        ),
    );
    let version = ground.query("SELECT @@version", 1)?.concat().concat();
    let workload = Oltp {
        access: ground.access(Transport::Plain)?,
        tables: TABLES,
        scenario: Scenario::UpdateNonIndex,
    };
    let mut engine = Engine::start(vec![workload], &Load::closed(CONNECTIONS), 1)?;
    engine
        .prepare(0)?
        .map_err(|failure| failure.message().to_owned())?;
    let mut looks = OurWaits::open()?;
    let mut seen = Vec::new();
    // The first reads symbols and fills caches, and counts for nothing.
    for number in 0..=slices {
        let server = ground.server().pids()[0];
        match look(server, &version, &mut engine, &mut looks) {
            Ok(slice) if number > 0 => seen.push(slice),
            Ok(_) => {}
            Err(error) => {
                document.paragraph(&format!(
                    "The wait sampler was not set beside records of switches: {error}."
                ));
                return Ok(());
            }
        }
        eprintln!("slice {number} of {slices} of waits");
    }
    document.paragraph(&in_words(&seen));
    let ways: Vec<&Ways> = seen.iter().map(|slice| &slice.ways).collect();
    document.table(
        "The wait sampler beside records of switches",
        &sessions::table(&ways)?,
    );
    Ok(())
}

/// One slice, in which both ways look at once.
fn look(server: u32, version: &str, engine: &mut Engine, looks: &mut OurWaits) -> Result<Slice> {
    let mut recording = Recording::start(SWITCHES, server)?;
    recording.begin()?;
    looks.begin(server)?;
    let before = (now_ns()?, run_queue_waits(server)?);
    let yielded = engine.slice(0, SLICE)?;
    let after = (now_ns()?, run_queue_waits(server)?);
    looks.stop();
    recording.stop()?;
    if let Some(failure) = &yielded.first_failure {
        return Err(failure.message().into());
    }
    let mut switches = Switches::new(before.0..after.0, |sample| states::of_switch(version, sample));
    let recorded = recording.finish()?;
    recorded.read(&["--show-switch-events"], |record| switches.take(record))?;
    let off = switches.finish();
    let waited_ns = after.1.since(&before.1, 0).ok_or(UNCOUNTED)?;
    let wake_up_ns = waited_ns.saturating_sub(off.all_preempted_ns) as f64 / off.all_woken.max(1) as f64;
    let length_ns = (after.0 - before.0) as f64;
    let (waits, symbols) = looks.waits()?;
    let with_stack: u64 = off.states.values().map(|waited| waited.ns).sum();
    Ok(Slice {
        throughput: yielded.operation_count() as f64 / (yielded.duration_ns as f64 / 1e9),
        waits: off.of_sessions.times as f64 / (length_ns / 1e9),
        wake_up_us: wake_up_ns / 1e3,
        stand_for: with_stack as f64 * f64::from(ONE_IN) / (off.of_sessions.ns as f64).max(1.0),
        lost: off.lost as f64,
        ways: Ways {
            sampler: sessions::of_waits(version, &waits, symbols),
            switches: sessions::of_switches(&off, length_ns, 0.0),
            without_wake_up: sessions::of_switches(&off, length_ns, wake_up_ns),
        },
    })
}

fn in_words(slices: &[Slice]) -> String {
    let figure = |of: fn(&Slice) -> f64| -> Repeats { slices.iter().map(of).collect() };
    format!(
        "Both look at the same threads in the same slices: ours {WAITS_HZ} times a second at what each thread waits in, `perf` at \
         every switch from and to a CPU, with the stack of each {ONE_IN}th, which counts {ONE_IN} times until its thread has a CPU \
         again. The rules that name the state of a stack are the product's, for both. Figures are average sessions in a state, so each \
         column adds up to about the {CONNECTIONS} connections; ratios are paired by slice, with their 95 % interval. Until a thread \
         that was woken up has a CPU, records of switches count it as waiting still; the sampler finds it runnable. What that takes \
         on average, whatever the thread waited for (what the kernel counts as waits for a CPU, less what preempted threads wait by the \
         records, by the threads woken up), is taken off each wait in the columns *until woken up*, and added to the row of those on a \
         CPU. The bar is 20 % for group commit and redo log. In a slice: {:.0} operations and {:.0} waits of sessions a second, {:.0} µs \
         from being woken up to a CPU; waits with a stack stand for {:.2} of the time of all; records lost: {:.0}.",
        figure(|slice| slice.throughput),
        figure(|slice| slice.waits),
        figure(|slice| slice.wake_up_us),
        figure(|slice| slice.stand_for),
        figure(|slice| slice.lost),
    )
}

/// The clock that records are asked for by, in nanoseconds.
fn now_ns() -> Result<u64> {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic))?;
    Ok(now.as_nanos() as u64)
}

fn run_queue_waits(server: u32) -> Result<RunQueueWaits> {
    Ok(RunQueueWaits::of(server).ok_or(UNCOUNTED)?)
}
