//! What the outputs look up in a run.

use ciphertax_model::{Metric, Pace};
use ciphertax_records::{ArmRecord, ArmRole, EstimateRow, KindRow, MeasuredCell, PhaseRow, Run};

/// The metrics that the first table of a cell shows; the others are among the measured values.
pub(crate) fn headline(run: &Run, cell: MeasuredCell<'_>) -> Vec<Metric> {
    let speed = match cell.asked.load.pace() {
        Pace::Closed | Pace::Batch { .. } => [Metric::Throughput, Metric::LatencyP95],
        Pace::Open { .. } => [Metric::ResponseP50, Metric::ResponseP99],
    };
    let sides = sides(run, &cell.found.name);
    sides.into_iter().chain(speed).collect()
}

/// CPU time of the server's side, however it was measured, then of the client's, which is all where the database runs in
/// it.
fn sides(run: &Run, cell: &str) -> Vec<Metric> {
    if run.head.is_embedded() {
        return vec![Metric::ClientCpuPerOp];
    }
    let is_round = |metric: &Metric| Metric::COMPARED_OF_ROUNDS.contains(metric);
    let mut metrics: Vec<Metric> = Metric::SERVER_CPU
        .into_iter()
        .filter(|metric| !is_round(metric) || is_measured(run, cell, *metric))
        .collect();
    metrics.push(Metric::ClientCpuPerOp);
    metrics
}

/// The metrics of storage that any arm of a cell has: what is written, read, and worked for it elsewhere.
pub(crate) fn of_storage(run: &Run, cell: &str) -> Vec<Metric> {
    let metrics = [
        Metric::StorageWrittenPerOp,
        Metric::StorageReadPerOp,
        Metric::FileSystemCpuPerOp,
        Metric::KernelWorkersCpuPerOp,
    ];
    metrics
        .into_iter()
        .filter(|metric| is_measured(run, cell, *metric))
        .collect()
}

/// True for what one arm may have and the baseline not: such an arm is shown by itself.
pub(crate) fn may_be_missing(metric: Metric) -> bool {
    Metric::MEASURED_ALONE.contains(&metric) || Metric::COMPARED_OF_ROUNDS.contains(&metric)
}

/// The metric that stands for the server's CPU in a cell; any other is itself.
pub(crate) fn of_whole_rounds(run: &Run, cell: &str, metric: Metric) -> Metric {
    match metric {
        Metric::ServerCpuPerOp => run.results.server_cpu(cell),
        other => other,
    }
}

/// True if any arm of a cell has a metric.
fn is_measured(run: &Run, cell: &str, metric: Metric) -> bool {
    let mut rows = run.results.measurements.iter();
    rows.any(|row| row.cell == cell && row.metric == metric)
}

/// The arms the study asks about in this cell: a cell may leave some out.
pub(crate) fn variants_in<'a>(run: &'a Run, cell: MeasuredCell<'a>) -> impl Iterator<Item = &'a ArmRecord> {
    let cell = cell.asked;
    let is_measured =
        move |arm: &&ArmRecord| run.head.study.arms_of(cell).any(|other| other.name == arm.name);
    run.head.variants().filter(is_measured)
}

/// The arm all others are compared with.
pub(crate) fn baseline(run: &Run) -> Option<&ArmRecord> {
    run.head.arms.iter().find(|arm| arm.role == ArmRole::Baseline)
}

/// The variants against the baseline for each kind of operation of a cell; empty where there is but one kind.
pub(crate) fn by_kind<'a>(run: &'a Run, cell: &str) -> Vec<&'a KindRow> {
    run.results
        .by_kind
        .iter()
        .filter(|row| row.estimate.cell == cell)
        .collect()
}

/// The baseline against itself.
pub(crate) fn noise<'a>(run: &'a Run, cell: &str, metric: Metric) -> Option<&'a EstimateRow> {
    run.results
        .noise_floor
        .iter()
        .find(|row| row.cell == cell && row.metric == metric)
}

/// The noise floor of a metric in a cell, as a factor less one: smaller changes do not count. `None` where nothing was
/// compared.
pub(crate) fn floor(run: &Run, cell: &str, metric: Metric) -> Option<f64> {
    let mut rows = run.results.estimates.iter();
    rows.find(|row| row.cell == cell && row.metric == metric)?.floor
}

/// What an arm measured by itself, with its unit.
pub(crate) fn measured<'a>(run: &'a Run, cell: &str, arm: &str, metric: Metric) -> Option<(f64, &'a str)> {
    run.results
        .measurements
        .iter()
        .find(|row| row.cell == cell && row.arm == arm && row.metric == metric)
        .map(|row| (row.value, row.unit.as_str()))
}

/// The metrics of what stands between clients and server that any arm of a cell has: of a tunnel, of a pooler, and of a relay, which
/// is a part of the server's.
pub(crate) fn between(run: &Run, cell: &str) -> impl Iterator<Item = Metric> {
    let metrics = Metric::OF_WHAT_IS_BETWEEN.into_iter();
    metrics.filter(move |metric| is_measured(run, cell, *metric))
}

/// The phases of an arm's connects, in the order of all reports.
pub(crate) fn phases<'a>(run: &'a Run, cell: &str, arm: &str) -> Vec<&'a PhaseRow> {
    let mut rows: Vec<_> = run
        .results
        .connect_phases
        .iter()
        .filter(|row| row.cell == cell && row.arm == arm)
        .collect();
    rows.sort_by_key(|row| row.phase);
    rows
}

/// True if client and server shared the CPUs of a machine.
pub(crate) fn is_same_host(run: &Run) -> bool {
    run.head.servers.iter().any(|server| server.same_host)
}

/// The metrics that an arm measures by itself, and that any arm of a cell has.
pub(crate) fn measured_alone(run: &Run, cell: &str) -> impl Iterator<Item = Metric> {
    let metrics = Metric::MEASURED_ALONE.into_iter();
    metrics.filter(move |metric| is_measured(run, cell, *metric))
}
