//! Slices of a load and a server whose every answer is known before.

mod probes;
mod rounds;

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_engine::{Failure, SliceYield};
use ciphertax_model::workload::CELLS;
use ciphertax_model::{Arm, Study};
use ciphertax_observe::{Meter, OwnThreads, SystemCpu, Unmetered};
use ciphertax_records::{OperationSample, Sample, VoidReason, Yield};
use ciphertax_stats::histogram;

use super::slice::{SliceMeter, block_seed};
use crate::error::{Result, RunError};
use crate::load::{Load, Seen, Slice};
use crate::schedule::PlannedSlice;
use crate::server::Server;
use crate::timeout::unusable;

/// Of the run, and the number of the block that is measured.
const SEED: u64 = 1;
const BLOCK: u32 = 4;

const STUDY: &str = r#"
name = "made-up"
question = "What makes a slice void?"
time_s = 60
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "select", workload = "oltp_point_select", load = { connections = 2 } }]
"#;

/// A server whose answers are known before it is asked.
struct FakeServer {
    /// What its counters are, each time it is asked; `None` for no answer.
    counters: VecDeque<Option<BTreeMap<String, i64>>>,
    meter: Box<dyn Meter>,
    death: Option<String>,
    probed: probes::Probed,
}

impl FakeServer {
    fn counting(self, counters: impl Into<VecDeque<Option<BTreeMap<String, i64>>>>) -> Self {
        let counters = counters.into();
        Self { counters, ..self }
    }

    fn dead(self, death: &str) -> Self {
        Self {
            death: Some(death.into()),
            ..self
        }
    }
}

impl Server for FakeServer {
    fn apply_probe(&mut self, _arm: &Arm) -> Result<()> {
        self.probed.perturb()
    }

    fn undo_probe(&mut self) -> Result<()> {
        self.probed.calm()
    }

    fn counters(&mut self) -> Result<BTreeMap<String, i64>> {
        let answer = self.counters.pop_front().expect("it is asked before and after");
        answer.ok_or_else(|| unusable("the server", "no answer"))
    }

    fn meter(&self) -> &dyn Meter {
        self.meter.as_ref()
    }

    fn death(&self) -> Option<String> {
        self.death.clone()
    }
}

/// A load that is known before it is made.
struct FakeLoad {
    prepared: Result<(), Failure>,
    /// What a slice yields; taken by the one there is.
    slice: Option<Slice>,
    /// What is held against it at its end.
    judgement: Option<VoidReason>,
}

impl Load for FakeLoad {
    fn workers(&self) -> u32 {
        3
    }

    fn prepare(&mut self, _arm: usize) -> Result<Result<(), Failure>> {
        Ok(self.prepared.clone())
    }

    fn slice(&mut self, _arm: usize, _duration: Duration, seed: u64) -> Result<Slice> {
        assert_eq!(seed, block_seed(SEED, BLOCK));
        self.slice.take().ok_or(RunError::Stopped)
    }

    fn judge(&self, _arm: usize, slice: &mut Slice, seen: &Seen<'_>) {
        assert_eq!(seen.counters["Questions"], 150);
        assert_eq!(seen.change["Questions"], 50);
        assert_eq!(seen.tunnel_cpu, None);
        if self.judgement.is_some() {
            slice.void = self.judgement.clone();
        }
    }
}

/// A server that answers and is fine.
fn server() -> FakeServer {
    FakeServer {
        counters: [counters(10, 100), counters(11, 150)].map(Some).into(),
        meter: Box::new(Unmetered {
            reason: "it is made up".into(),
        }),
        death: None,
        probed: probes::Probed::default(),
    }
}

fn counters(uptime: i64, questions: i64) -> BTreeMap<String, i64> {
    [("Uptime", uptime), ("Questions", questions)]
        .map(|(name, count)| (name.to_owned(), count))
        .into()
}

/// A load of 100 operations that is fine.
fn load() -> FakeLoad {
    FakeLoad {
        prepared: Ok(()),
        slice: Some(Slice {
            yielded: yielded(),
            void: None,
        }),
        judgement: None,
    }
}

fn yielded() -> SliceYield {
    SliceYield {
        recorded: Yield {
            duration_ns: 500_000_000,
            client_cpu: CpuTime {
                total_ns: 4_000,
                system_ns: 1_000,
            },
            client_context_switches: 7,
            operations: vec![OperationSample {
                kind: "point_select".into(),
                count: 100,
                errors: 0,
                latency_sum_ns: 1_000,
                latency: histogram::encode(&histogram::empty()),
            }],
            queries: 100,
            workers: 3,
            ..Yield::default()
        },
        ..SliceYield::nothing(Instant::now())
    }
}

/// The same with other records.
fn recorded(change: impl FnOnce(&mut Yield)) -> SliceYield {
    let mut yielded = yielded();
    change(&mut yielded.recorded);
    yielded
}

fn failing(failure: Failure) -> FakeLoad {
    yielding(SliceYield {
        failures: 2,
        first_failure: Some(failure),
        ..yielded()
    })
}

fn yielding(yielded: SliceYield) -> FakeLoad {
    FakeLoad {
        slice: Some(Slice { yielded, void: None }),
        ..load()
    }
}

/// One that cannot go on.
fn broken() -> FakeLoad {
    FakeLoad {
        slice: None,
        ..load()
    }
}

fn measure(server: FakeServer, load: FakeLoad) -> Result<Sample> {
    measure_while_stolen(0, server, load)
}

/// Measures while so much of each second of CPU time is stolen.
fn measure_while_stolen(steal_ns: u64, mut server: FakeServer, load: FakeLoad) -> Result<Sample> {
    measure_on(steal_ns, &mut server, load)
}

fn measure_on(steal_ns: u64, server: &mut FakeServer, mut load: FakeLoad) -> Result<Sample> {
    let readings = Cell::new(0);
    let machine = || {
        readings.set(readings.get() + 1);
        Ok(SystemCpu {
            total_ns: readings.get() * 1_000_000_000,
            steal_ns: readings.get() * steal_ns,
            idle_ns: 0,
        })
    };
    let study = Study::from_toml(STUDY).unwrap();
    let arms: Vec<Arm> = study.measured_arms();
    let id = PlannedSlice {
        cell: &study.cells[0],
        arm: &arms[2],
        arm_index: 2,
        block: BLOCK,
        look: None,
        position: 1,
        duration: study.slice(),
    };
    let mut meter = SliceMeter {
        began: Instant::now(),
        seed: SEED,
        server,
        load: &mut load,
        looker: None,
        machine: &machine,
    };
    Ok(meter.slice(&id)?.sample)
}

fn reason(server: FakeServer, load: FakeLoad) -> VoidReason {
    measure(server, load).unwrap().void.unwrap()
}

fn died(detail: &str) -> VoidReason {
    VoidReason::ServerDied {
        detail: detail.into(),
    }
}

fn errors(count: u64, first: &str) -> VoidReason {
    VoidReason::Errors {
        count,
        first: first.into(),
    }
}

#[test]
fn a_sample_holds_what_load_and_server_say() {
    let sample = measure(server(), load()).unwrap();
    let of = (sample.slice.cell.as_str(), sample.slice.arm.as_str());
    assert_eq!(of, ("select", "tls"));
    let numbers = (sample.slice.block, sample.slice.position, sample.load.workers);
    assert_eq!(numbers, (4, 1, 3));
    assert_eq!(sample.load.duration_ns, 500_000_000);
    assert_eq!((sample.load.operation_count(), sample.load.queries), (100, 100));
    let counters = &sample.server.server_counters;
    assert_eq!(*counters, [("Questions".to_owned(), 50)].into());
    assert!(!sample.load.client_bound);
    // Nobody can say.
    let unseen = (sample.server.server_cpu, sample.server.server_context_switches);
    assert_eq!(unseen, (None, None));
    assert_eq!(sample.server.tunnel_cpu, None);
}

#[test]
fn a_server_that_can_be_read_has_its_cpu_time_in_the_sample() {
    let here = FakeServer {
        meter: Box::new(OwnThreads),
        ..server()
    };
    let sample = measure(here, load()).unwrap();
    assert!(sample.server.server_cpu.is_some() && sample.server.server_context_switches.is_some());
}

#[test]
fn an_arm_that_cannot_be_prepared_is_not_measured() {
    let unprepared = |failure| FakeLoad {
        prepared: Err(failure),
        slice: None,
        ..load()
    };
    let refused = || Failure::Error("too many connections".into());
    let sample = measure(server(), unprepared(refused())).unwrap();
    assert_eq!(sample.void, Some(errors(1, "too many connections")));
    assert_eq!((sample.load.workers, sample.load.duration_ns), (3, 0));
    let differs = unprepared(Failure::FactsDiffer("no TLS".into()));
    assert_eq!(
        reason(server(), differs),
        VoidReason::FactsDiffer {
            detail: "no TLS".into()
        }
    );
    let dead = server().dead("its process ended");
    let lost = || Failure::Disconnected("connection refused".into());
    assert_eq!(reason(dead, unprepared(lost())), died("its process ended"));
    let refused = reason(server(), unprepared(lost()));
    assert_eq!(refused, errors(1, "connection refused"));
}

#[test]
fn a_server_that_does_not_answer_before_a_slice_gets_no_load() {
    let silent = |death: Option<&str>| FakeServer {
        counters: [None].into(),
        death: death.map(str::to_owned),
        ..server()
    };
    let unanswered = reason(silent(None), load());
    assert_eq!(unanswered, errors(1, "the server does not answer any more"));
    let ended = reason(silent(Some("its process ended")), load());
    assert_eq!(ended, died("its process ended"));
}

#[test]
fn a_server_that_does_not_answer_after_a_slice_died() {
    let silent = || server().counting([Some(counters(10, 100)), None]);
    assert_eq!(reason(silent(), load()), died("it does not answer any more"));
    let dead = silent().dead("its process ended");
    assert_eq!(reason(dead, load()), died("its process ended"));
    // What its sessions were is graver.
    let differs = failing(Failure::FactsDiffer("TLSv1.2".into()));
    assert!(matches!(
        reason(silent(), differs),
        VoidReason::FactsDiffer { .. }
    ));
}

#[test]
fn a_server_that_counts_its_time_anew_was_restarted() {
    let restarted = server().counting([Some(counters(10, 100)), Some(counters(1, 150))]);
    let failed = failing(Failure::Error("gone away".into()));
    assert_eq!(reason(restarted, failed), died("it was restarted"));
    // One that does not say since when it runs cannot tell.
    let without = |questions| Some([("Questions".to_owned(), questions)].into());
    let untold = server().counting([without(100), without(150)]);
    assert_eq!(measure(untold, load()).unwrap().void, None);
}

#[test]
fn operations_that_fail_void_a_slice_and_a_lost_connection_asks_whether_the_server_lives() {
    let failed = || failing(Failure::Error("duplicate key".into()));
    assert_eq!(reason(server(), failed()), errors(2, "duplicate key"));
    let dead = || server().dead("its process ended");
    assert_eq!(reason(dead(), failed()), errors(2, "duplicate key"));
    let lost = || failing(Failure::Disconnected("connection reset".into()));
    assert_eq!(reason(server(), lost()), errors(2, "connection reset"));
    assert_eq!(reason(dead(), lost()), died("its process ended"));
}

#[test]
fn what_the_load_says_of_itself_and_what_is_held_against_it_void_a_slice() {
    let interrupted = SliceYield {
        interrupted: true,
        ..yielded()
    };
    assert_eq!(reason(server(), yielding(interrupted)), VoidReason::Interrupted);
    let empty = recorded(|load| load.operations.clear());
    assert_eq!(reason(server(), yielding(empty)), VoidReason::Empty);
    let with_cells = |counts: [u64; 3]| {
        let counts = CELLS.map(str::to_owned).into_iter().zip(counts);
        recorded(|load| load.counts = counts.collect())
    };
    let unencrypted = with_cells([6, 0, 7]);
    let sample = measure(server(), yielding(unencrypted)).unwrap();
    let is_one = matches!(sample.void, Some(VoidReason::CellsDiffer { .. }));
    assert!(is_one, "{:?}", sample.void);
    assert_eq!(sample.load.counts_of(CELLS), [6, 0, 7]);
    let encrypted = with_cells([6, 1, 7]);
    assert_eq!(measure(server(), yielding(encrypted)).unwrap().void, None);
    let stalled = SliceYield {
        unfinished: 4,
        ..yielded()
    };
    assert!(matches!(
        reason(server(), yielding(stalled)),
        VoidReason::Stalled { .. }
    ));
    let judged = FakeLoad {
        judgement: Some(VoidReason::FactsDiffer {
            detail: "it did not use TLS".into(),
        }),
        ..load()
    };
    let expected = "a session is not what its arm says: it did not use TLS";
    assert_eq!(reason(server(), judged).to_string(), expected);
}

#[test]
fn every_block_has_a_seed_of_its_own_and_another_in_another_run() {
    let seeds: std::collections::BTreeSet<u64> = (0..100)
        .flat_map(|seed| (0..100).map(move |block| block_seed(seed, block)))
        .collect();
    assert_eq!(seeds.len(), 10_000);
}

#[test]
fn a_slice_from_which_too_much_was_stolen_does_not_count() {
    let stolen = |steal_ns| measure_while_stolen(steal_ns, server(), load()).unwrap();
    let bearable = stolen(100_000_000);
    assert_eq!((bearable.void, bearable.server.steal_ns), (None, 100_000_000));
    let void = stolen(110_000_000).void;
    assert_eq!(void, Some(VoidReason::Steal { fraction: 0.11 }));
}

#[test]
fn a_load_generator_that_is_the_bottleneck_is_marked_and_counts() {
    let saturated = yielding(recorded(|load| load.client_bound = true));
    let sample = measure(server(), saturated).unwrap();
    assert!(sample.load.client_bound && sample.is_valid());
}

#[test]
fn a_load_that_cannot_go_on_is_an_error() {
    let broken = broken();
    assert!(measure(server(), broken).is_err());
}
