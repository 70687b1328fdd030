//! What arms are compared by, and the series that the comparison rests on.

use std::array;

use ciphertax_model::Metric;
use ciphertax_stats::both_baselines::{compare, compare_means};
use ciphertax_stats::totals::{self, Taken};
use ciphertax_stats::{Compared, DisturbedBlocks, Estimate, Location};

use crate::EstimateError;
use crate::cell::{AGAIN, BASELINE, CellSamples, Figures, pooled_mean_latency, value};

/// What arms are compared by besides, in a cell with rounds; nothing in any other.
pub(crate) fn of_rounds(cell: &CellSamples<'_>) -> Vec<Metric> {
    if !cell.rounds.are_there() {
        return Vec::new();
    }
    let rounds = || cell.slices().filter_map(|slice| slice.round.as_ref());
    let has_file_system = rounds().any(|round| round.file_system_cpu_ns.is_some());
    let mut metrics = Metric::COMPARED_OF_ROUNDS.to_vec();
    metrics.retain(|metric| {
        has_file_system
            || !matches!(
                metric,
                Metric::FileSystemCpuPerOp | Metric::ServerAndFileSystemCpuPerOp
            )
    });
    metrics
}

/// The metric that says most of what the server's side pays in a cell.
pub(crate) fn server_cpu(cell: &CellSamples<'_>) -> Metric {
    let compared = of_rounds(cell);
    Metric::SERVER_CPU
        .into_iter()
        .find(|metric| compared.contains(metric))
        .unwrap_or(Metric::ServerCpuPerOp)
}

impl CellSamples<'_> {
    /// The logarithms of a metric of several arms, a row for each block in which all have it. What is paid later is lumpy, so for
    /// metrics of rounds they are those of what was taken in all. Empty where one of them took nothing.
    pub fn logs_of<const N: usize>(&self, arms: [usize; N], metric: Metric) -> Vec<[f64; N]> {
        if !Metric::COMPARED_OF_ROUNDS.contains(&metric) {
            return self.logged(arms, Logged::MetricOfBlock(metric));
        }
        let taken = self.rows(arms, |slice| {
            Some(Taken {
                amount: slice.round.as_ref()?.of_metric(metric)? as f64,
                operations: slice.operations as f64,
            })
        });
        let series = |arm: usize| totals::logs(&taken.iter().map(|row| row[arm]).collect::<Vec<_>>());
        let series: Vec<Vec<f64>> = (0..N).map(series).collect::<Result<_, _>>().unwrap_or_default();
        let row = |block: usize| array::from_fn(|arm| series[arm][block]);
        let blocks = series.first().map_or(0, Vec::len);
        (0..blocks).map(row).collect()
    }

    /// What a comparison of an arm with the baseline rests on.
    pub(crate) fn logs(&self, arm: usize, of: Logged) -> Logs {
        if arm == AGAIN {
            return Logs::Repeated(self.logged([BASELINE, AGAIN], of));
        }
        let rows = self.logged([BASELINE, AGAIN, arm], of);
        match rows.is_empty() {
            true => Logs::Alone(self.logged([BASELINE, arm], of)),
            false => Logs::Variant(rows),
        }
    }

    fn logged<const N: usize>(&self, arms: [usize; N], of: Logged) -> Vec<[f64; N]> {
        let logs = |rows: Vec<[f64; N]>| rows.into_iter().map(|row| row.map(f64::ln)).collect();
        match of {
            Logged::Metric(metric) => self.logs_of(arms, metric),
            Logged::MetricOfBlock(metric) => logs(self.rows(arms, |slice| value(slice, metric))),
            Logged::Kind(kind) => logs(self.rows(arms, |slice| pooled_mean_latency(&[slice], kind))),
        }
    }

    /// What several arms tell of themselves, a row for each block in which all do.
    fn rows<T: Copy, const N: usize>(
        &self,
        arms: [usize; N],
        told: impl Fn(&Figures) -> Option<T>,
    ) -> Vec<[T; N]> {
        let row = |slices: [&Figures; N]| {
            let row: Vec<T> = slices.into_iter().map(&told).collect::<Option<_>>()?;
            row.try_into().ok()
        };
        self.together(arms).filter_map(row).collect()
    }
}

/// What logarithms are taken of.
#[derive(Clone, Copy)]
pub(crate) enum Logged {
    /// A metric; one of rounds by what was taken in all of them.
    Metric(Metric),
    /// A metric of each block by itself.
    MetricOfBlock(Metric),
    /// The mean latency of one kind of operation.
    Kind(usize),
}

/// The logarithms that a comparison with the baseline rests on, block by block.
pub(crate) enum Logs {
    /// Of the baseline and the baseline again.
    Repeated(Vec<[f64; 2]>),
    /// Of both baselines and a variant.
    Variant(Vec<[f64; 3]>),
    /// Of the baseline and a variant, where the baseline again was not measured.
    Alone(Vec<[f64; 2]>),
}

/// What an arm differs from the baseline by.
pub(crate) struct Change {
    pub(crate) estimate: Estimate,
    pub(crate) location: Location,
    pub(crate) disturbed: Option<DisturbedBlocks>,
}

impl Logs {
    /// Blocks in which all that is compared was measured.
    pub(crate) fn blocks(&self) -> usize {
        match self {
            Self::Repeated(rows) | Self::Alone(rows) => rows.len(),
            Self::Variant(rows) => rows.len(),
        }
    }

    /// The baseline by block; where there are two, halfway between them.
    pub(crate) fn baseline(&self) -> Vec<f64> {
        match self {
            Self::Repeated(rows) | Self::Alone(rows) => rows.iter().map(|[baseline, _]| *baseline).collect(),
            Self::Variant(rows) => rows
                .iter()
                .map(|[baseline, again, _]| f64::midpoint(*baseline, *again))
                .collect(),
        }
    }

    /// The log-ratio of each block to its baseline.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        let arm = |block: usize| match self {
            Self::Repeated(rows) | Self::Alone(rows) => rows[block][1],
            Self::Variant(rows) => rows[block][2],
        };
        let baseline = self.baseline().into_iter().enumerate();
        baseline.map(|(block, baseline)| arm(block) - baseline).collect()
    }

    /// The change; `None` where there are fewer than two blocks.
    pub(crate) fn change(&self, metric: Metric) -> Result<Option<Change>, EstimateError> {
        if self.blocks() < 2 {
            return Ok(None);
        }
        let of_two = |estimate, location| Change {
            estimate,
            location,
            disturbed: None,
        };
        Ok(Some(match self {
            Self::Variant(rows) => {
                let compared = compared_rows(rows, metric)?;
                Change {
                    estimate: compared.estimate,
                    location: compared.location,
                    disturbed: compared.disturbed,
                }
            }
            Self::Repeated(_) if is_disturbed_by_the_machine(metric) => {
                of_two(Estimate::robust_of_log_ratios(&self.ratios())?, Location::Robust)
            }
            Self::Repeated(_) | Self::Alone(_) => {
                of_two(Estimate::of_log_ratios(&self.ratios())?, Location::Mean)
            }
        }))
    }
}

/// Compares a variant with both baselines, as it is right for the metric.
fn compared_rows(rows: &[[f64; 3]], metric: Metric) -> Result<Compared, EstimateError> {
    let compared = match is_disturbed_by_the_machine(metric) {
        true => compare(rows, metric.direction()),
        false => compare_means(rows),
    };
    Ok(compared?)
}

/// Logarithms of baseline and arm by block whose means are what the tables say, for formulas of both: the baseline's is its
/// `level`, the arm's is away from it by the estimated ratio. Rows are of both baselines and the arm.
pub fn as_in_the_tables(
    rows: &[[f64; 3]],
    metric: Metric,
    level: f64,
) -> Result<Vec<[f64; 2]>, EstimateError> {
    let baselines: Vec<f64> = rows
        .iter()
        .map(|[one, again, _]| f64::midpoint(*one, *again))
        .collect();
    let shift = level.ln() - baselines.iter().sum::<f64>() / baselines.len() as f64;
    let ratios = compared_rows(rows, metric)?.series;
    let pairs = baselines.into_iter().zip(ratios);
    Ok(pairs
        .map(|(baseline, ratio)| [baseline + shift, baseline + shift + ratio])
        .collect())
}

/// True for what takes time. What is counted no machine disturbs; and what is paid later is lumpy by itself.
fn is_disturbed_by_the_machine(metric: Metric) -> bool {
    !Metric::COMPARED_OF_ROUNDS.contains(&metric)
        && !matches!(metric, Metric::BytesPerOp | Metric::CellsPerOp)
}
