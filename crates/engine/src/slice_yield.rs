//! What a slice yielded, all load threads together.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ciphertax_records::{CpuTime, Handshakes, OpenLoopSample, OperationSample, PhaseSample};

use crate::course::Course;
use crate::operation::Failure;
use crate::recorder::{KeptOperation, Recorder};
use crate::responses::Responses;
use crate::worker::Work;

/// What a slice yielded, all load threads together.
pub struct SliceYield {
    /// When the first load thread began.
    pub began: Instant,
    /// From the first request to the last answer.
    pub duration: Duration,
    /// CPU time of the load threads.
    pub client_cpu: CpuTime,
    /// Their context switches.
    pub client_context_switches: u64,
    /// How long they could have run but waited for a CPU, in nanoseconds; `None` if the kernel does not say.
    pub client_run_queue_wait_ns: Option<u64>,
    /// Operations by kind.
    pub operations: Vec<OperationSample>,
    /// Statements answered, all operations together.
    pub queries: u64,
    /// Times an operation was begun anew because the server gave up on it, as in a deadlock.
    pub restarts: u64,
    /// Reads that did not find what was inserted before, on a member of a replica set that did not have it yet.
    pub stale_reads: u64,
    /// Phases of the connects made.
    pub phases: Vec<PhaseSample>,
    /// Logins by `plugin/path`.
    pub logins: BTreeMap<String, u64>,
    /// TLS handshakes of the connects made; `None` where there were none.
    pub handshakes: Option<Handshakes>,
    /// Bytes given to sockets.
    pub bytes_sent: u64,
    /// Bytes taken from sockets.
    pub bytes_received: u64,
    /// Every single operation, where they are kept.
    pub kept: Vec<KeptOperation>,
    /// Operations that failed.
    pub failures: u64,
    /// The first of them, or the gravest.
    pub first_failure: Option<Failure>,
    /// Operations that did not finish within ten seconds after the end of the slice; in a batch, after the last began.
    pub unfinished: u64,
    /// How the schedule was kept; `None` in a closed loop.
    pub open_loop: Option<OpenLoopSample>,
    /// True if it was cut short because somebody wanted to stop.
    pub interrupted: bool,
    /// Share of the CPUs the load threads may use that they used, as a fraction.
    pub saturation: f64,
}

/// What all load threads together did.
pub(crate) fn merge(works: Vec<Work>, course: &Course) -> SliceYield {
    let threads = works.len() as f64;
    let began = works
        .iter()
        .map(|work| work.began)
        .min()
        .unwrap_or_else(Instant::now);
    let ended = works.iter().map(|work| work.ended).max().unwrap_or(began);
    let duration = ended - began;
    let client_cpu = CpuTime {
        total_ns: works.iter().map(|work| work.cpu.total_ns).sum(),
        system_ns: works.iter().map(|work| work.cpu.system_ns).sum(),
    };
    let client_context_switches = works.iter().map(|work| work.context_switches).sum();
    let client_run_queue_wait_ns = works.iter().map(|work| work.run_queue_wait_ns).sum();
    let unfinished = works.iter().map(|work| work.unfinished).sum();
    let merged = works
        .into_iter()
        .map(|work| (work.recorder, work.responses))
        .reduce(|mut merged, (recorder, responses)| {
            merged.0.merge(&recorder);
            merged.1.merge(&responses);
            merged
        });
    let (mut recorder, responses) = merged.unwrap_or_else(|| (Recorder::new(&[], false), Responses::new()));
    let open_loop = match course {
        Course::Open(schedule) => Some(responses.sample(schedule.operations())),
        Course::Closed(_) | Course::Batch(_) => None,
    };
    SliceYield {
        began,
        duration,
        client_cpu,
        client_context_switches,
        client_run_queue_wait_ns,
        operations: recorder.operations(),
        queries: recorder.queries,
        restarts: recorder.restarts,
        stale_reads: recorder.stale_reads,
        phases: recorder.phases(),
        logins: recorder.logins(),
        handshakes: recorder.handshakes,
        bytes_sent: recorder.bytes_sent,
        bytes_received: recorder.bytes_received,
        kept: recorder.take_kept(),
        failures: recorder.failures,
        first_failure: recorder.first_failure,
        unfinished,
        open_loop,
        interrupted: false,
        saturation: client_cpu.total_ns as f64 / (duration.as_nanos() as f64 * threads).max(1.0),
    }
}
