//! What a slice yielded, all load threads together.

use std::ops::Deref;
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_records::{KeptOperation, Yield};

use crate::course::Course;
use crate::recorder::{Recorder, Responses};
use crate::worker::Work;
use crate::workload::Failure;

/// The share of the CPUs it may use from which on the load generator counts as the bottleneck.
const SATURATED: f64 = 0.85;

/// What a slice yielded, all load threads together, and how it went.
#[derive(Debug)]
pub struct SliceYield {
    /// When the first load thread began, or the schedule did.
    pub began: Instant,
    /// How long after the beginning of its schedule the last load thread began; zero without a schedule, where `began` says all.
    pub late: Duration,
    /// What is recorded of it.
    pub recorded: Yield,
    /// Every single operation, where they are kept.
    pub kept: Vec<KeptOperation>,
    /// Operations that failed.
    pub failures: u64,
    /// The first of them, or the gravest.
    pub first_failure: Option<Failure>,
    /// Operations that did not finish within ten seconds after the end of the slice; in a batch, after the last began.
    pub unfinished: u64,
    /// True if it was cut short because somebody wanted to stop.
    pub interrupted: bool,
}

impl SliceYield {
    /// A slice that began and yielded nothing yet.
    pub fn nothing(began: Instant) -> Self {
        Self {
            began,
            late: Duration::ZERO,
            recorded: Yield::default(),
            kept: Vec::new(),
            failures: 0,
            first_failure: None,
            unfinished: 0,
            interrupted: false,
        }
    }

    /// True if every operation that began ended well, so that all connections are still there.
    pub fn is_whole(&self) -> bool {
        self.failures == 0 && self.unfinished == 0
    }
}

impl Deref for SliceYield {
    type Target = Yield;

    fn deref(&self) -> &Yield {
        &self.recorded
    }
}

pub(crate) fn merge(works: Vec<Work>, course: &Course) -> SliceYield {
    let threads = works.len() as f64;
    let first = works.iter().map(|work| work.began).min();
    let began = match course {
        // Threads that come late do not move the schedule.
        Course::Open(schedule) => schedule.start(),
        Course::Closed(_) | Course::Batch(_) => first.unwrap_or_else(Instant::now),
    };
    let ended = works.iter().map(|work| work.ended).max().unwrap_or(began);
    let duration = ended.saturating_duration_since(began);
    let last = works.iter().map(|work| work.began).max().unwrap_or(began);
    let late = match course {
        Course::Open(_) => last.saturating_duration_since(began),
        Course::Closed(_) | Course::Batch(_) => Duration::ZERO,
    };
    let client_cpu = CpuTime {
        total_ns: works.iter().map(|work| work.cpu.total_ns).sum(),
        system_ns: works.iter().map(|work| work.cpu.system_ns).sum(),
    };
    let client_context_switches = works.iter().map(|work| work.context_switches).sum();
    let client_page_faults = works.iter().map(|work| work.faults).reduce(|mut sum, more| {
        sum += more;
        sum
    });
    let client_run_queue_wait_ns = works.iter().map(|work| work.run_queue_wait_ns).sum();
    let client_hardware = works.iter().map(|work| work.hardware).reduce(|sum, more| {
        let mut sum = sum?;
        sum += more?;
        Some(sum)
    });
    let unfinished = works.iter().map(|work| work.unfinished).sum();
    let merged = works
        .into_iter()
        .map(|work| (work.recorder, work.responses))
        .reduce(|mut merged, (recorder, responses)| {
            merged.0.merge(&recorder);
            merged.1.merge(&responses);
            merged
        });
    let (mut recorder, responses) =
        merged.unwrap_or_else(|| (Recorder::new(&[], &[], false), Responses::new()));
    let open_loop = match course {
        Course::Open(schedule) => Some(responses.sample(schedule.operations())),
        Course::Closed(_) | Course::Batch(_) => None,
    };
    // A part of a schedule may have no operation in a slice.
    let saturation = match duration.is_zero() {
        true => 0.0,
        false => client_cpu.total_ns as f64 / (duration.as_nanos() as f64 * threads),
    };
    SliceYield {
        began,
        late,
        recorded: Yield {
            duration_ns: duration.as_nanos() as u64,
            operations: recorder.operations(),
            client_cpu,
            bytes_sent: recorder.sum.bytes_sent,
            bytes_received: recorder.sum.bytes_received,
            client_context_switches,
            client_run_queue_wait_ns,
            client_page_faults,
            client_hardware: client_hardware.flatten(),
            client_peak_memory_bytes: ciphertax_observe::own_peak_memory_bytes(),
            workers: threads as u32,
            logins: recorder.logins(),
            handshakes: recorder.handshakes,
            queries: recorder.sum.queries,
            restarts: recorder.sum.restarts,
            counts: recorder.counts(),
            phases: recorder.phases(),
            open_loop,
            client_bound: saturation > SATURATED,
            ranks: Vec::new(),
        },
        kept: recorder.take_kept(),
        failures: recorder.failures,
        first_failure: recorder.first_failure,
        unfinished,
        interrupted: false,
    }
}
