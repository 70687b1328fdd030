//! Made-up runs whose truth is known.

use std::collections::BTreeMap;

use ciphertax_base::CpuTime;
use ciphertax_model::{Profiling, Study};
use ciphertax_records::why::*;
use ciphertax_records::{Head, OperationSample, Results, Sample, ServerSide, SliceId, Yield};
use ciphertax_stats::histogram;

use super::random::Random;
pub(crate) use super::record::head;
use super::record::slice_id;

pub(crate) const STUDY: &str = r#"
name = "made-up"
question = "Why?"
time_s = 60
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "select", workload = "oltp_point_select", load = { connections = 8 } }]
"#;

/// The arms of a cell, in the order of the truth.
pub(super) const ARMS: [&str; 3] = ["plain", "baseline again", "tls"];
const CONNECTIONS: f64 = 8.0;
const HZ: f64 = 997.0;
const SLICE_S: f64 = 0.25;
/// Looks in a slice.
const ROUNDS: u64 = 23;

/// What sessions wait for: system call, functions of the stack with the innermost first, microseconds of an operation.
pub(super) type Wait = (&'static str, &'static [&'static str], f64);

/// What is true of an arm, in microseconds of an operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Truth {
    /// The server's CPU time by category, each a stack of one function called like it.
    pub(super) server: Vec<(&'static str, f64)>,
    pub(super) client_us: f64,
    pub(super) runnable_us: f64,
    pub(super) waits: Vec<Wait>,
    /// What is left of a round trip.
    pub(super) network_us: f64,
    /// Part of the CPUs that nobody uses.
    pub(super) idle: f64,
    /// Part of them that other programs use; what is left is a pooler's.
    pub(super) others: f64,
}

impl Truth {
    pub(super) fn cpu_us(&self) -> f64 {
        self.server.iter().map(|(_, us)| us).sum()
    }

    pub(super) fn round_trip_us(&self) -> f64 {
        let waits: f64 = self.waits.iter().map(|(.., us)| us).sum();
        self.cpu_us() + self.runnable_us + waits + self.network_us
    }

    /// With more of a category.
    pub(super) fn with(mut self, category: &'static str, us: f64) -> Self {
        self.server.push((category, us));
        self
    }
}

/// The category of functions that are called like it; what is called `?` has none.
fn by_name(_: ProfiledSide, _: &str, stack: &[(&str, &str)]) -> Option<&'static str> {
    const NAMES: [&str; 13] = [
        "spinning",
        "SQL",
        "parse",
        "locks",
        "copies",
        "allocation",
        "network",
        "futex",
        "poll",
        "record",
        "cipher",
        "hashes",
        "rare",
    ];
    let (function, _) = stack.first()?;
    NAMES.into_iter().find(|name| name == function)
}

pub(super) struct MadeUp {
    pub(super) head: Head,
    pub(super) samples: Vec<Sample>,
    pub(super) looks: LookLog,
}

impl MadeUp {
    pub(super) fn why(&self) -> Why {
        self.why_beside(&Results::default())
    }

    pub(super) fn why_beside(&self, results: &Results) -> Why {
        crate::why::why(
            &by_name,
            &self.head,
            results,
            self.samples.as_slice(),
            &self.looks,
            None,
        )
        .unwrap()
    }

    /// So many blocks, of which one in four is looked into, each arm with what is true of it.
    pub(super) fn run(study: &str, truths: [&Truth; 3], blocks: u32, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut made = Self {
            head: head(Study::from_toml(study).unwrap()),
            samples: Vec::new(),
            looks: LookLog::default(),
        };
        for block in 0..blocks {
            let is_looked = block >= Profiling::BLOCKS_BEFORE && block % Profiling::ONE_BLOCK_IN == 1;
            let of_block = random.factor(0.05);
            for (position, (arm, truth)) in ARMS.into_iter().zip(truths).enumerate() {
                let id = slice_id(&made.head.study.cells[0].name, block, position as u32, arm);
                made.slice(id, truth, of_block * random.factor(0.02), is_looked, &mut random);
            }
        }
        made
    }

    fn slice(&mut self, id: SliceId, truth: &Truth, factor: f64, is_looked: bool, random: &mut Random) {
        let by_category: Vec<f64> = truth
            .server
            .iter()
            .map(|(_, us)| us * factor * random.factor(0.03))
            .collect();
        let cpu_us: f64 = by_category.iter().sum();
        let round_trip_us = truth.round_trip_us() * factor;
        let operations = (CONNECTIONS * SLICE_S * 1e6 / round_trip_us).round().max(1.0);
        let ns = |us: f64| (us * operations * 1e3) as u64;
        let cpu = |us: f64| CpuTime {
            total_ns: ns(us),
            system_ns: ns(us) / 4,
        };
        let of_kind = OperationSample {
            kind: "select".into(),
            count: operations as u64,
            latency_sum_ns: ns(round_trip_us),
            latency: histogram::encode(&histogram::empty()),
            ..OperationSample::default()
        };
        let cpus_ns = 2.0 * SLICE_S * 1e9;
        let idle_ns = truth.idle * random.factor(0.03) * cpus_ns;
        let of_both_ns = ns(cpu_us + truth.client_us * factor) as f64;
        let left_ns = (1.0 - truth.others) * cpus_ns - idle_ns - of_both_ns;
        self.samples.push(Sample {
            slice: id.clone(),
            start_ns: u64::from(id.block * 3 + id.position) * 250_000_000,
            load: Yield {
                duration_ns: (SLICE_S * 1e9) as u64,
                operations: vec![of_kind],
                client_cpu: cpu(truth.client_us * factor),
                workers: 2,
                ..Yield::default()
            },
            server: ServerSide {
                server_cpu: Some(cpu(cpu_us)),
                server_run_queue_wait_ns: Some(ns(truth.runnable_us * factor)),
                cpu_idle_ns: Some(idle_ns as u64),
                pooler_cpu: Some(CpuTime {
                    total_ns: left_ns.max(0.0) as u64,
                    ..CpuTime::default()
                }),
                ..ServerSide::default()
            },
            look: is_looked.then_some(Look::Full),
            ..Sample::default()
        });
        if is_looked {
            self.profile(&id, truth, &by_category, operations, random);
            self.waits(&id, truth, round_trip_us / truth.round_trip_us(), random);
        }
    }

    fn profile(
        &mut self,
        id: &SliceId,
        truth: &Truth,
        by_category: &[f64],
        operations: f64,
        random: &mut Random,
    ) {
        let mut stacks = BTreeMap::new();
        for ((category, _), us) in truth.server.iter().zip(by_category) {
            let count = random.poisson(us * operations / 1e6 * HZ);
            *stacks
                .entry(stack(&mut self.looks.symbols, &[*category]))
                .or_default() += count;
        }
        stacks.retain(|_, count| *count > 0);
        let samples = stacks.values().sum();
        self.looks.profiles.push(Profile {
            slice: id.clone(),
            sides: BTreeMap::from([(
                ProfiledSide::Server,
                SideProfile {
                    hz: HZ as u32,
                    samples,
                    complete: samples,
                    stacks,
                    ..SideProfile::default()
                },
            )]),
        });
    }

    /// Every look finds each session in one state by chance.
    fn waits(&mut self, id: &SliceId, truth: &Truth, factor: f64, random: &mut Random) {
        let all = truth.round_trip_us() * factor;
        let (mut running, mut idle) = (0, 0);
        let mut seen = vec![0; truth.waits.len()];
        for _ in 0..ROUNDS * CONNECTIONS as u64 {
            let mut at = random.uniform() * all;
            at -= (truth.cpu_us() + truth.runnable_us) * factor;
            if at < 0.0 {
                running += 1;
                continue;
            }
            let waits = truth.waits.iter().position(|(.., us)| {
                at -= us * factor;
                at < 0.0
            });
            match waits {
                Some(wait) => seen[wait] += 1,
                None => idle += 1,
            }
        }
        let blocked = truth.waits.iter().zip(seen).filter(|(_, seen)| *seen > 0);
        let blocked = blocked.map(|((call, functions, _), seen)| Blocked {
            call: (*call).into(),
            object: None,
            stack: stack(&mut self.looks.symbols, functions),
            seen,
            complete: seen,
            background: false,
        });
        let blocked = blocked.collect();
        self.looks.waits.push(Waits {
            rounds: ROUNDS,
            running,
            idle,
            blocked,
            ..Waits::unseen(id.clone())
        });
    }
}

/// The number of a stack of these functions, the innermost first, all of one program.
pub(super) fn stack(symbols: &mut SymbolTable, functions: &[&str]) -> StackId {
    let module = symbols.module(ModuleRecord {
        name: "mariadbd".into(),
        build_id: None,
    });
    let mut numbers = Vec::new();
    for function in functions {
        numbers.push(symbols.symbol(SymbolRecord {
            module,
            name: (*function).to_owned(),
        }));
    }
    symbols.stack(&numbers)
}
