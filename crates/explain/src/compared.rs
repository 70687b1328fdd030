//! What arms are compared by, and the series that the comparison rests on.

use ciphertax_model::Metric;
use ciphertax_stats::totals::{self, Taken};

use crate::cell::{CellSamples, Figures};

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
    /// What both arms took of a metric of rounds, in the blocks whose round has ended.
    fn taken(&self, one: usize, other: usize, metric: Metric) -> (Vec<Taken>, Vec<Taken>) {
        let taken = |figures: &Figures| {
            Some(Taken {
                amount: figures.round.as_ref()?.of_metric(metric)? as f64,
                operations: figures.operations as f64,
            })
        };
        self.pairs(one, other)
            .filter_map(|(a, b)| Some((taken(a)?, taken(b)?)))
            .unzip()
    }

    /// The logarithms of a metric of both arms, one a block in which both have it. What is paid later is lumpy, so for metrics of
    /// rounds they are those of what was taken in all. Empty where one of them took nothing.
    pub(crate) fn logs(&self, one: usize, other: usize, metric: Metric) -> Logs {
        if Metric::COMPARED_OF_ROUNDS.contains(&metric) {
            let (one, other) = self.taken(one, other, metric);
            let logs = totals::logs(&one).and_then(|one| Ok((one, totals::logs(&other)?)));
            let (one, other) = logs.unwrap_or_default();
            return Logs { one, other };
        }
        let (one, other) = self.paired(one, other, metric);
        Logs::of(&one, &other)
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
