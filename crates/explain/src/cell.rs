//! The samples of one cell, block by block.

use std::collections::BTreeMap;

use ciphertax_model::{Cell, Metric, Study};
use ciphertax_records::{Phase, Sample};

/// The samples of one cell. Arms are known by their index: 0 is the baseline, 1 the baseline again.
pub(crate) struct CellSamples<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) arms: Vec<String>,
    /// By block; within a block by arm.
    blocks: Vec<Vec<Option<&'a Sample>>>,
}

pub(crate) const BASELINE: usize = 0;
pub(crate) const AGAIN: usize = 1;

impl<'a> CellSamples<'a> {
    pub(crate) fn new(study: &Study, cell: &'a Cell, samples: &'a [Sample]) -> Self {
        let arms = study.measured_arms_of(cell);
        let arms: Vec<String> = arms.into_iter().map(|arm| arm.name).collect();
        let mut blocks: BTreeMap<u32, Vec<Option<&Sample>>> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| sample.cell == cell.name) {
            if let Some(arm) = arms.iter().position(|name| *name == sample.arm) {
                blocks
                    .entry(sample.block)
                    .or_insert_with(|| vec![None; arms.len()])[arm] = Some(sample);
            }
        }
        Self {
            cell,
            arms,
            blocks: blocks.into_values().collect(),
        }
    }

    /// Every sample, void ones too, in the order of the blocks.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &'a Sample> {
        self.blocks.iter().flatten().flatten().copied()
    }

    /// The valid samples of one arm.
    pub(crate) fn valid(&self, arm: usize) -> impl Iterator<Item = &'a Sample> {
        self.blocks
            .iter()
            .filter_map(move |block| block[arm])
            .filter(|sample| counts(sample))
    }

    /// The blocks in which both arms are valid.
    pub(crate) fn pairs(&self, one: usize, other: usize) -> impl Iterator<Item = (&'a Sample, &'a Sample)> {
        self.blocks.iter().filter_map(move |block| {
            let pair = (block[one]?, block[other]?);
            (counts(pair.0) && counts(pair.1)).then_some(pair)
        })
    }

    /// A metric of both arms, one value a block in which both have it.
    pub(crate) fn paired(&self, one: usize, other: usize, metric: Metric) -> (Vec<f64>, Vec<f64>) {
        self.pairs(one, other)
            .filter_map(|(a, b)| Some((value(a, metric)?, value(b, metric)?)))
            .unzip()
    }

    /// The mean latency of one kind of operation of both arms, in microseconds, one value a block in which both have it.
    pub(crate) fn paired_means(&self, one: usize, other: usize, kind: &str) -> (Vec<f64>, Vec<f64>) {
        self.pairs(one, other)
            .filter_map(|(a, b)| Some((pooled_mean_latency(&[a], kind)?, pooled_mean_latency(&[b], kind)?)))
            .unzip()
    }

    /// The kinds of operations, where there are several; none where there is but one.
    pub(crate) fn kinds(&self) -> Vec<&'a str> {
        let mut kinds: Vec<&str> = Vec::new();
        for kind in self.valid(BASELINE).flat_map(|sample| &sample.operations) {
            if kind.count > 0 && !kinds.contains(&kind.kind.as_str()) {
                kinds.push(&kind.kind);
            }
        }
        if kinds.len() > 1 { kinds } else { Vec::new() }
    }

    /// Seconds that a block takes, from the first to the last; `None` before there are two.
    pub(crate) fn seconds_per_block(&self) -> Option<f64> {
        let starts: Vec<u64> = self
            .blocks
            .iter()
            .filter_map(|block| block.iter().flatten().map(|sample| sample.start_ns).min())
            .collect();
        let slices: u64 = self.samples().map(|sample| sample.duration_ns).sum();
        (starts.len() > 1).then(|| slices as f64 / 1e9 / starts.len() as f64)
    }

    /// True if the load generator was the bottleneck in more than half of the slices of some arm.
    pub(crate) fn is_client_bound(&self) -> bool {
        (0..self.arms.len()).any(|arm| {
            let (bound, all) = self.valid(arm).fold((0, 0), |(bound, all), sample| {
                (bound + u32::from(sample.client_bound), all + 1)
            });
            bound * 2 > all
        })
    }
}

/// True if a sample is valid and has something to count.
fn counts(sample: &Sample) -> bool {
    sample.is_valid() && sample.operation_count() > 0
}

/// A metric of one sample, in the metric's unit; `None` where it was not seen. Percentiles are not a slice's to tell.
pub(crate) fn value(sample: &Sample, metric: Metric) -> Option<f64> {
    pooled(&[sample], metric)
}

/// A metric of several samples together: of all operations, not of slices, so that a slice with few operations has little
/// to say. `None` where it was not seen. Percentiles are made of histograms instead.
pub(crate) fn pooled(samples: &[&Sample], metric: Metric) -> Option<f64> {
    let sum = |of: &dyn Fn(&Sample) -> u64| samples.iter().map(|sample| of(sample) as f64).sum::<f64>();
    let every = |of: &dyn Fn(&Sample) -> Option<u64>| {
        let values = samples.iter().map(|sample| of(sample).map(|value| value as f64));
        values.sum::<Option<f64>>()
    };
    let operations = sum(&Sample::operation_count);
    let value = match metric {
        Metric::ClientCpuPerOp => sum(&|sample| sample.client_cpu.total_ns) / 1e3 / operations,
        Metric::ServerCpuPerOp => every(&|sample| Some(sample.server_cpu?.total_ns))? / 1e3 / operations,
        Metric::TunnelCpuPerOp => every(&|sample| Some(sample.tunnel_cpu?.total_ns))? / 1e3 / operations,
        Metric::Throughput => operations / (sum(&|sample| sample.duration_ns) / 1e9),
        Metric::LatencyMean => sum(&latency_sum_ns) / 1e3 / operations,
        Metric::ResponseMean => {
            every(&|sample| Some(sample.open_loop.as_ref()?.response_sum_ns))? / 1e3 / operations
        }
        Metric::ConnectMean => mean_of_phases(samples, |phase| phase < Phase::FirstOperation)?,
        Metric::FirstQueryMean => mean_of_phases(samples, |phase| phase == Phase::FirstOperation)?,
        Metric::TimeToFirstQueryMean => {
            // Without a first query there is nothing that a user could wait for.
            mean_of_phases(samples, |phase| phase == Phase::FirstOperation)?;
            mean_of_phases(samples, |phase| phase <= Phase::FirstOperation)?
        }
        Metric::BytesPerOp => sum(&|sample| sample.bytes_sent + sample.bytes_received) / operations,
        Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99 => return None,
        Metric::ResponseP50 | Metric::ResponseP95 | Metric::ResponseP99 => return None,
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

fn latency_sum_ns(sample: &Sample) -> u64 {
    sample.operations.iter().map(|kind| kind.latency_sum_ns).sum()
}

/// The wall time that a connect spends in these phases, in microseconds; `None` if it has none of them.
fn mean_of_phases(samples: &[&Sample], is_meant: impl Fn(Phase) -> bool) -> Option<f64> {
    let means = Phase::ALL
        .into_iter()
        .filter(|phase| is_meant(*phase))
        .filter_map(|phase| {
            let of_phase = samples
                .iter()
                .flat_map(|sample| &sample.phases)
                .filter(|other| other.phase == phase);
            let (wall_ns, count) = of_phase.fold((0, 0), |(wall_ns, count), other| {
                (wall_ns + other.wall_sum_ns, count + other.count)
            });
            (count > 0).then(|| wall_ns as f64 / 1e3 / count as f64)
        });
    means.reduce(|sum, mean| sum + mean)
}

/// True if a slice has operations of this kind.
pub(crate) fn has_kind(sample: &Sample, kind: &str) -> bool {
    sample.operations.iter().any(|of| of.kind == kind && of.count > 0)
}

/// The mean latency of one kind of operation over several samples in microseconds; `None` if there was none.
pub(crate) fn pooled_mean_latency(samples: &[&Sample], kind: &str) -> Option<f64> {
    let of_kind = samples
        .iter()
        .flat_map(|sample| &sample.operations)
        .filter(|of| of.kind == kind);
    let (sum_ns, count) = of_kind.fold((0, 0), |(sum_ns, count), of| {
        (sum_ns + of.latency_sum_ns, count + of.count)
    });
    (count > 0).then(|| sum_ns as f64 / 1e3 / count as f64)
}
