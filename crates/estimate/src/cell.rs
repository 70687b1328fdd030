//! What the slices of one cell tell without their histograms, block by block. Those that were looked into are not among them:
//! looking costs what it is to explain.

use std::collections::BTreeMap;
use std::io;

use ciphertax_base::{HardwareCounts, Phase};
use ciphertax_model::workload::{CELLS, NOT_DONE};
use ciphertax_model::{Cell, Metric, Study};
use ciphertax_records::{Round, Sample, Samples};

use crate::rounds::{Looked, OfRound, Pages, Rounds};
use crate::totals::{Nodes, Ranks, Totals};

/// The slices of one cell. Arms are known by their index: 0 is the baseline, 1 the baseline again.
pub struct CellSamples<'a> {
    /// As the study has it.
    pub cell: &'a Cell,
    /// Their names.
    pub arms: Vec<String>,
    /// Names of the kinds of operations, in the order they were first seen.
    kinds: Vec<String>,
    /// By number; within a block by arm.
    blocks: BTreeMap<u32, Vec<Option<Figures>>>,
    totals: Vec<Totals>,
    /// Where arms differ at rest.
    pub rounds: Rounds,
    /// The blocks that say why.
    looked: Looked,
    /// Where several load generators made the load.
    pub ranks: Ranks,
    /// Where several servers hold the same data, those of the baseline.
    pub nodes: Nodes,
}

/// The index of the baseline among a cell's arms.
pub const BASELINE: usize = 0;
/// That of the baseline again.
pub const AGAIN: usize = 1;

/// The figures of one slice. Of a run of many hours these are in memory, and its samples are not.
pub struct Figures {
    /// Where its sample stands among all of the run.
    pub(crate) index: usize,
    /// False of a void slice.
    pub is_valid: bool,
    /// Measured time in nanoseconds.
    pub duration_ns: u64,
    /// Operations that succeeded, all kinds together.
    pub operations: u64,
    latency_sum_ns: u64,
    /// CPU time of the load threads in nanoseconds.
    pub client_cpu_ns: u64,
    /// CPU time of the server in nanoseconds; `None` where it cannot be seen.
    pub server_cpu_ns: Option<u64>,
    /// Of the client's threads, then of the server.
    hardware: [Option<HardwareCounts>; 2],
    tunnel_cpu_ns: Option<u64>,
    pooler_cpu_ns: Option<u64>,
    column_relay_cpu_ns: Option<u64>,
    /// Sent and received.
    bytes: u64,
    /// Cells that the client encrypted and decrypted.
    pub cells: u64,
    /// What its operations asked and found not to be done.
    not_done: u64,
    /// Read into the server's cache, and written from it.
    pages: Pages,
    /// Of the client's threads, then of the server's.
    pub run_queue_wait_ns: [Option<u64>; 2],
    workers: u32,
    client_bound: bool,
    /// `None` in a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// What its arm's server used over the whole round; `None` where arms do not differ at rest, and of a round without end.
    pub round: Option<Box<OfRound>>,
    /// By kind, as far as the cell had seen kinds.
    kinds: Box<[Sum]>,
    /// By phase; empty where connections are reused.
    phases: Box<[Sum]>,
}

/// Sums of an open loop in nanoseconds.
#[derive(Clone, Copy)]
pub struct OpenLoop {
    /// By how much operations began too late.
    pub delay_ns: u64,
    /// From when they should have begun to their end.
    pub response_ns: u64,
}

/// How often, and how long in all.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    ns: u64,
}

impl<'a> CellSamples<'a> {
    /// Of no slices yet.
    pub(crate) fn new(study: &Study, cell: &'a Cell) -> Self {
        let arms = study.measured_arms_of(cell);
        let arms: Vec<String> = arms.into_iter().map(|arm| arm.name).collect();
        Self {
            cell,
            kinds: Vec::new(),
            blocks: BTreeMap::new(),
            totals: arms.iter().map(|_| Totals::default()).collect(),
            rounds: Rounds::default(),
            looked: Looked::default(),
            ranks: Ranks::default(),
            nodes: Nodes::default(),
            arms,
        }
    }

    /// The index of an arm of this name.
    pub fn index_of(&self, arm: &str) -> Option<usize> {
        self.arms.iter().position(|name| name == arm)
    }

    /// Takes note of the sample with this index among all of the run, if it is one of this cell.
    pub(crate) fn add(&mut self, index: usize, sample: &Sample) {
        if sample.slice.cell != self.cell.name {
            return;
        }
        let Some(arm) = self.index_of(&sample.slice.arm) else {
            return;
        };
        if sample.look.is_some() {
            self.looked.add(sample);
            return;
        }
        for of in &sample.load.operations {
            if of.count > 0 && !self.kinds.contains(&of.kind) {
                self.kinds.push(of.kind.clone());
            }
        }
        self.rounds.add_slice(sample);
        self.ranks.add(sample);
        if arm == BASELINE {
            self.nodes.add(sample);
        }
        let figures = Figures::of(index, sample, &self.kinds);
        self.totals[arm].add(sample, figures.counts());
        let empty = || self.arms.iter().map(|_| None).collect();
        self.blocks.entry(sample.slice.block).or_insert_with(empty)[arm] = Some(figures);
    }

    /// Takes note of a round, if it is one of this cell: after the samples of its slices.
    pub(crate) fn add_round(&mut self, round: &Round) {
        if round.cell != self.cell.name || self.looked.has(round.block) {
            return;
        }
        self.rounds.add(round);
        let Some(block) = self.blocks.get_mut(&round.block) else {
            return;
        };
        for of_arm in &round.arms {
            let Some(arm) = self.arms.iter().position(|name| *name == of_arm.arm) else {
                continue;
            };
            if let Some(figures) = &mut block[arm] {
                figures.round = Some(Box::new(OfRound::of(of_arm)));
                if figures.counts() {
                    self.rounds.add_counters(arm, of_arm, figures.operations);
                }
            }
        }
    }

    /// Blocks of which there is a slice.
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Every slice that was not looked into, void ones too, in the order of the blocks.
    pub fn slices(&self) -> impl Iterator<Item = &Figures> {
        self.blocks.values().flatten().flatten()
    }

    /// The slices of one arm that count.
    pub fn valid(&self, arm: usize) -> impl Iterator<Item = &Figures> {
        self.blocks
            .values()
            .filter_map(move |block| block[arm].as_ref())
            .filter(|slice| slice.counts())
    }

    /// A metric over all slices of an arm that tell it, of all their operations together, in the metric's unit.
    pub fn level(&self, arm: usize, metric: Metric) -> Option<f64> {
        pooled_of(self.valid(arm), metric)
    }

    /// The same of the baseline and the baseline again together, against both of which variants are compared.
    pub fn level_of_both_baselines(&self, metric: Metric) -> Option<f64> {
        pooled_of(self.both_baselines(), metric)
    }

    /// The slices of the baseline and of the baseline again that count.
    pub(crate) fn both_baselines(&self) -> impl Iterator<Item = &Figures> {
        self.valid(BASELINE).chain(self.valid(AGAIN))
    }

    /// The blocks in which both arms are valid.
    pub fn pairs(&self, one: usize, other: usize) -> impl Iterator<Item = (&Figures, &Figures)> {
        self.together([one, other]).map(|[one, other]| (one, other))
    }

    /// What two arms took of a metric, and their operations, in the blocks in which both tell it: of the one, then of the other, whose
    /// slice is beside it.
    pub fn taken(&self, arms: [usize; 2], metric: Metric) -> impl Iterator<Item = ([f64; 4], &Figures)> {
        self.together(arms).filter_map(move |[one, other]| {
            let [of_one, of_other] = [one.operations as f64, other.operations as f64];
            let taken = [
                value(one, metric)? * of_one,
                of_one,
                value(other, metric)? * of_other,
                of_other,
            ];
            Some((taken, other))
        })
    }

    /// The blocks in which all these arms are valid.
    pub fn together<const N: usize>(&self, arms: [usize; N]) -> impl Iterator<Item = [&Figures; N]> {
        self.blocks.values().filter_map(move |block| {
            let slices = arms.iter().filter_map(|arm| block[*arm].as_ref());
            let slices: Vec<&Figures> = slices.filter(|slice| slice.counts()).collect();
            slices.try_into().ok()
        })
    }

    /// The kinds of operations that the baseline did, where there are several; none where there is but one.
    pub fn kinds(&self) -> Vec<usize> {
        let is_done = |kind: &usize| self.valid(BASELINE).any(|slice| slice.has_kind(*kind));
        let kinds: Vec<usize> = (0..self.kinds.len()).filter(is_done).collect();
        if kinds.len() > 1 { kinds } else { Vec::new() }
    }

    /// The operations of a kind that an arm did in its slices that count, and the seconds that these took.
    pub(crate) fn done(&self, arm: usize, kind: usize) -> (u64, f64) {
        let (count, ns) = self.valid(arm).fold((0, 0), |(count, ns), slice| {
            (count + slice.of_kind(kind).count, ns + slice.duration_ns)
        });
        (count, ns as f64 / 1e9)
    }

    /// The name of a kind.
    pub(crate) fn kind(&self, kind: usize) -> &str {
        &self.kinds[kind]
    }

    /// What the slices of an arm add up to.
    pub fn totals(&self, arm: usize) -> &Totals {
        &self.totals[arm]
    }

    /// Load threads; 0 where a program of the user's own was the load.
    pub(crate) fn workers(&self) -> u32 {
        self.slices().map(|slice| slice.workers).max().unwrap_or(0)
    }

    /// Slices that do not count, those that were looked into among them.
    pub(crate) fn void_slices(&self) -> u32 {
        self.slices().filter(|slice| !slice.is_valid).count() as u32 + self.looked.void_slices()
    }

    /// Seconds in which so many more blocks are measured, those included that are looked into meanwhile; `None` before a block is
    /// known to take so long.
    pub(crate) fn seconds_of(&self, more_blocks: u32) -> Option<f64> {
        let blocks = self.looked.blocks_with(more_blocks);
        self.seconds_per_block().map(|seconds| seconds * blocks)
    }

    /// How long valid slices were on average; `None` where there are none.
    pub(crate) fn slice_seconds(&self) -> Option<f64> {
        let valid = self.slices().filter(|slice| slice.is_valid);
        let (count, ns) = valid.fold((0_u32, 0), |(count, ns), slice| {
            (count + 1, ns + slice.duration_ns)
        });
        (count > 0).then(|| ns as f64 / 1e9 / f64::from(count))
    }

    /// Seconds that a block takes, from the first to the last; `None` before there are two.
    fn seconds_per_block(&self) -> Option<f64> {
        if let Some(seconds) = self.rounds.seconds() {
            return Some(seconds);
        }
        let blocks = self.blocks.values();
        let begun = blocks.filter(|block| block.iter().any(Option::is_some)).count();
        let slices: u64 = self.slices().map(|slice| slice.duration_ns).sum();
        (begun > 1).then(|| slices as f64 / 1e9 / begun as f64)
    }

    /// What an operation found not to be done, over the first and over the last third of the slices that count; `None` of few slices.
    pub fn not_done_at_both_ends(&self) -> Option<[f64; 2]> {
        let valid: Vec<&Figures> = self.slices().filter(|slice| slice.counts()).collect();
        let third = valid.len() / 3;
        let an_operation = |slices: &[&Figures]| {
            let not_done: u64 = slices.iter().map(|slice| slice.not_done).sum();
            let operations: u64 = slices.iter().map(|slice| slice.operations).sum();
            not_done as f64 / operations.max(1) as f64
        };
        let ends = [valid.get(..third)?, valid.get(valid.len() - third..)?];
        (third > 0).then(|| ends.map(an_operation))
    }

    /// True if the load generator was the bottleneck in more than half of the slices of some arm.
    pub fn is_client_bound(&self) -> bool {
        (0..self.arms.len()).any(|arm| {
            let (bound, all) = self.valid(arm).fold((0, 0), |(bound, all), slice| {
                (bound + u32::from(slice.client_bound), all + 1)
            });
            bound * 2 > all
        })
    }
}

/// The slices of every cell of a study, from all samples of a run. `each` sees every sample once.
pub(crate) fn read<'a>(
    study: &'a Study,
    samples: &(impl Samples + ?Sized),
    mut each: impl FnMut(&Sample),
) -> io::Result<Vec<CellSamples<'a>>> {
    let mut cells: Vec<CellSamples<'_>> = study
        .cells
        .iter()
        .map(|cell| CellSamples::new(study, cell))
        .collect();
    for index in 0..samples.count() {
        let sample = samples.get(index)?;
        cells.iter_mut().for_each(|cell| cell.add(index, &sample));
        each(&sample);
    }
    for index in 0..samples.round_count() {
        let round = samples.round(index)?;
        cells.iter_mut().for_each(|cell| cell.add_round(&round));
    }
    Ok(cells)
}

impl Figures {
    fn of(index: usize, sample: &Sample, kinds: &[String]) -> Self {
        let (load, server) = (&sample.load, &sample.server);
        let of_kind = |kind: &String| {
            let mut sum = Sum::default();
            for of in load.operations.iter().filter(|of| of.kind == *kind) {
                sum.count += of.count;
                sum.ns += of.latency_sum_ns;
            }
            sum
        };
        let of_phase = |phase: Phase| {
            let mut sum = Sum::default();
            for of in load.phases.iter().filter(|of| of.phase == phase) {
                sum.count += of.count;
                sum.ns += of.wall_sum_ns;
            }
            sum
        };
        let [encrypted, decrypted, _] = load.counts_of(CELLS);
        Self {
            index,
            is_valid: sample.is_valid(),
            duration_ns: load.duration_ns,
            operations: load.operation_count(),
            latency_sum_ns: load.operations.iter().map(|kind| kind.latency_sum_ns).sum(),
            client_cpu_ns: load.client_cpu.total_ns,
            server_cpu_ns: server.server_cpu.map(|cpu| cpu.total_ns),
            hardware: [load.client_hardware, server.server_hardware],
            tunnel_cpu_ns: server.tunnel_cpu.map(|cpu| cpu.total_ns),
            pooler_cpu_ns: server.pooler_cpu.map(|cpu| cpu.total_ns),
            column_relay_cpu_ns: server.column_relay_cpu.map(|cpu| cpu.total_ns),
            bytes: load.bytes_sent + load.bytes_received,
            cells: encrypted + decrypted,
            not_done: load.counts_of(NOT_DONE).iter().sum(),
            pages: Pages::of(&server.server_counters),
            run_queue_wait_ns: [load.client_run_queue_wait_ns, server.server_run_queue_wait_ns],
            workers: load.workers,
            client_bound: load.client_bound,
            open_loop: load.open_loop.as_ref().map(|open_loop| OpenLoop {
                delay_ns: open_loop.delay_sum_ns,
                response_ns: open_loop.response_sum_ns,
            }),
            round: None,
            kinds: kinds.iter().map(of_kind).collect(),
            phases: match load.phases.is_empty() {
                true => Box::default(),
                false => Phase::ALL.into_iter().map(of_phase).collect(),
            },
        }
    }

    /// True if it is valid and has something to count.
    fn counts(&self) -> bool {
        self.is_valid && self.operations > 0
    }

    /// True if it tells a metric, be it that it is nothing.
    pub(crate) fn tells(&self, metric: Metric) -> bool {
        match Metric::COMPARED_OF_ROUNDS.contains(&metric) {
            true => self
                .round
                .as_ref()
                .is_some_and(|round| round.of_metric(metric).is_some()),
            false => value(self, metric).is_some(),
        }
    }

    /// The pages that were moved where a metric was measured: over the whole round, or in the slice alone.
    pub fn pages(&self, metric: Metric) -> Option<Pages> {
        match Metric::COMPARED_OF_ROUNDS.contains(&metric) {
            true => Some(self.round.as_ref()?.pages),
            false => Some(self.pages),
        }
    }

    /// True if it has operations of this kind.
    pub(crate) fn has_kind(&self, kind: usize) -> bool {
        self.of_kind(kind).count > 0
    }

    fn of_kind(&self, kind: usize) -> Sum {
        self.kinds.get(kind).copied().unwrap_or_default()
    }
}

fn pooled_of<'a>(slices: impl Iterator<Item = &'a Figures>, metric: Metric) -> Option<f64> {
    pooled(
        &slices.filter(|slice| slice.tells(metric)).collect::<Vec<_>>(),
        metric,
    )
}

/// A metric of one slice, in the metric's unit; `None` where it was not seen. Percentiles are not a slice's to tell.
pub fn value(slice: &Figures, metric: Metric) -> Option<f64> {
    pooled(&[slice], metric)
}

/// A metric of several slices together: of all operations, not of slices, so that a slice with few operations has little
/// to say. `None` where it was not seen. Percentiles are made of histograms instead.
fn pooled(slices: &[&Figures], metric: Metric) -> Option<f64> {
    let sum = |of: &dyn Fn(&Figures) -> u64| slices.iter().map(|slice| of(slice) as f64).sum::<f64>();
    let every = |of: &dyn Fn(&Figures) -> Option<u64>| {
        let values = slices.iter().map(|slice| of(slice).map(|value| value as f64));
        values.sum::<Option<f64>>()
    };
    let operations = sum(&|slice| slice.operations);
    let value = match metric {
        Metric::ClientCpuPerOp => sum(&|slice| slice.client_cpu_ns) / 1e3 / operations,
        Metric::ServerCpuPerOp => every(&|slice| slice.server_cpu_ns)? / 1e3 / operations,
        Metric::TunnelCpuPerOp => every(&|slice| slice.tunnel_cpu_ns)? / 1e3 / operations,
        Metric::PoolerCpuPerOp => every(&|slice| slice.pooler_cpu_ns)? / 1e3 / operations,
        Metric::CellsPerOp => sum(&|slice| slice.cells) / operations,
        Metric::ColumnRelayCpuPerOp => every(&|slice| slice.column_relay_cpu_ns)? / 1e3 / operations,
        Metric::ClientInstructionsPerOp => {
            every(&|slice| Some(slice.hardware[0]?.instructions))? / operations
        }
        Metric::ServerInstructionsPerOp => {
            every(&|slice| Some(slice.hardware[1]?.instructions))? / operations
        }
        Metric::ClientCyclesPerOp => every(&|slice| Some(slice.hardware[0]?.cycles))? / operations,
        Metric::ServerCyclesPerOp => every(&|slice| Some(slice.hardware[1]?.cycles))? / operations,
        Metric::Throughput => operations / (sum(&|slice| slice.duration_ns) / 1e9),
        Metric::LatencyMean => sum(&|slice| slice.latency_sum_ns) / 1e3 / operations,
        Metric::ResponseMean => every(&|slice| Some(slice.open_loop?.response_ns))? / 1e3 / operations,
        Metric::ConnectMean => mean_of_phases(slices, |phase| phase < Phase::FirstOperation)?,
        Metric::FirstQueryMean => mean_of_phases(slices, |phase| phase == Phase::FirstOperation)?,
        Metric::TimeToFirstQueryMean => {
            // Without a first query there is nothing that a user could wait for.
            mean_of_phases(slices, |phase| phase == Phase::FirstOperation)?;
            mean_of_phases(slices, |phase| phase <= Phase::FirstOperation)?
        }
        Metric::BytesPerOp => sum(&|slice| slice.bytes) / operations,
        Metric::ServerCpuRoundPerOp
        | Metric::FileSystemCpuPerOp
        | Metric::ServerAndFileSystemCpuPerOp
        | Metric::KernelWorkersCpuPerOp => {
            every(&|slice| slice.round.as_ref()?.of_metric(metric))? / 1e3 / operations
        }
        Metric::StorageWrittenPerOp | Metric::StorageReadPerOp => {
            every(&|slice| slice.round.as_ref()?.of_metric(metric))? / operations
        }
        Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99 => return None,
        Metric::ResponseP50 | Metric::ResponseP95 | Metric::ResponseP99 => return None,
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// The wall time that a connect spends in these phases, in microseconds; `None` if it has none of them.
fn mean_of_phases(slices: &[&Figures], is_meant: impl Fn(Phase) -> bool) -> Option<f64> {
    let means = Phase::ALL
        .into_iter()
        .filter(|phase| is_meant(*phase))
        .filter_map(|phase| {
            let of_phase = slices.iter().filter_map(|slice| slice.phases.get(phase.index()));
            mean_us(of_phase.copied())
        });
    means.reduce(|sum, mean| sum + mean)
}

/// The mean latency of one kind of operation over several slices in microseconds; `None` if there was none.
pub(crate) fn pooled_mean_latency(slices: &[&Figures], kind: usize) -> Option<f64> {
    mean_us(slices.iter().map(|slice| slice.of_kind(kind)))
}

fn mean_us(sums: impl Iterator<Item = Sum>) -> Option<f64> {
    let (ns, count) = sums.fold((0, 0), |(ns, count), sum| (ns + sum.ns, count + sum.count));
    (count > 0).then(|| ns as f64 / 1e3 / count as f64)
}
