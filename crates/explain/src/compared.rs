//! What arms are compared by, and the series that the comparison rests on.

use std::array;

use ciphertax_model::Metric;
use ciphertax_stats::totals::{self, Taken};

use crate::cell::{CellSamples, Figures, value};

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
    pub(crate) fn logs_of<const N: usize>(&self, arms: [usize; N], metric: Metric) -> Vec<[f64; N]> {
        if !Metric::COMPARED_OF_ROUNDS.contains(&metric) {
            return self
                .rows(arms, |slice| value(slice, metric))
                .into_iter()
                .map(|row| row.map(f64::ln))
                .collect();
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

    /// The same of two arms.
    pub(crate) fn logs(&self, one: usize, other: usize, metric: Metric) -> Logs {
        let logs = self.logs_of([one, other], metric);
        let (one, other) = logs.into_iter().map(|[one, other]| (one, other)).unzip();
        Logs { one, other }
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

/// Logarithms of two arms, block by block.
pub(crate) struct Logs {
    pub(crate) one: Vec<f64>,
    other: Vec<f64>,
}

impl Logs {
    /// Of values, which are above zero.
    pub(crate) fn of(one: &[f64], other: &[f64]) -> Self {
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect();
        Self {
            one: logs(one),
            other: logs(other),
        }
    }

    pub(crate) fn ratios(&self) -> Vec<f64> {
        let pairs = self.one.iter().zip(&self.other);
        pairs.map(|(one, other)| other - one).collect()
    }
}
