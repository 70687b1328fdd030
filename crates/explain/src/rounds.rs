//! Whole rounds: what a server used between its slices too, by the operations of its own.

use ciphertax_model::Metric;
use ciphertax_records::RoundOfArm;

use crate::cell::CellSamples;

/// What one arm's server used in a round, as far as it could be seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfRound {
    server_cpu_ns: Option<u64>,
    file_system_cpu_ns: Option<u64>,
    kernel_workers_cpu_ns: Option<u64>,
    bytes_written: Option<u64>,
    bytes_read: Option<u64>,
}

impl OfRound {
    pub(crate) fn of(round: &RoundOfArm) -> Self {
        Self {
            server_cpu_ns: round.server_cpu.map(|cpu| cpu.total_ns),
            file_system_cpu_ns: round.file_system_cpu.map(|cpu| cpu.total_ns),
            kernel_workers_cpu_ns: round.kernel_workers_cpu_ns,
            bytes_written: round.bytes_written,
            bytes_read: round.bytes_read,
        }
    }

    /// Nanoseconds or bytes of a metric of rounds; `None` where it was not seen.
    pub(crate) fn of_metric(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::ServerCpuRoundPerOp => self.server_cpu_ns,
            Metric::FileSystemCpuPerOp => self.file_system_cpu_ns,
            // A file system without anybody of its own takes nothing.
            Metric::ServerAndFileSystemCpuPerOp => self
                .server_cpu_ns?
                .checked_add(self.file_system_cpu_ns.unwrap_or(0)),
            Metric::KernelWorkersCpuPerOp => self.kernel_workers_cpu_ns,
            Metric::StorageWrittenPerOp => self.bytes_written,
            Metric::StorageReadPerOp => self.bytes_read,
            _ => None,
        }
    }
}

/// What arms are compared by besides, in a cell with rounds; nothing in any other.
pub(crate) fn compared(cell: &CellSamples<'_>) -> Vec<Metric> {
    if !cell.has_rounds() {
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
    let compared = compared(cell);
    Metric::SERVER_CPU
        .into_iter()
        .find(|metric| compared.contains(metric))
        .unwrap_or(Metric::ServerCpuPerOp)
}
