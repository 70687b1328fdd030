//! What the outputs look up in a run.

use ciphertax_model::{Metric, Pace};
use ciphertax_records::{ArmRecord, ArmRole, EstimateRow, KindRow, MeasuredCell, PhaseRow, Run};
use ciphertax_stats::Interval;

/// The metrics that the first table of a cell shows; the others are among the measured values.
pub(crate) fn headline(cell: MeasuredCell<'_>) -> [Metric; 4] {
    let (client, server) = (Metric::ClientCpuPerOp, Metric::ServerCpuPerOp);
    match cell.asked.load.pace() {
        Pace::Closed | Pace::Batch { .. } => [server, client, Metric::Throughput, Metric::LatencyP95],
        Pace::Open { .. } => [server, client, Metric::ResponseP50, Metric::ResponseP99],
    }
}

/// The arms the study asks about.
pub(crate) fn variants(run: &Run) -> impl Iterator<Item = &ArmRecord> {
    run.head.variants()
}

/// The arms the study asks about in this cell: a cell may leave some out.
pub(crate) fn variants_in<'a>(run: &'a Run, cell: MeasuredCell<'a>) -> impl Iterator<Item = &'a ArmRecord> {
    let cell = cell.asked;
    let is_measured =
        move |arm: &&ArmRecord| run.head.study.arms_of(cell).any(|other| other.name == arm.name);
    variants(run).filter(is_measured)
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

/// What the variant takes more than the baseline, in the unit of the estimate. Records of before it was recorded have it
/// from the change.
pub(crate) fn difference(row: &EstimateRow) -> Interval {
    row.difference.unwrap_or(Interval {
        value: row.baseline * row.change,
        low: row.baseline * row.low,
        high: row.baseline * row.high,
    })
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

/// The metrics of what stands between clients and server that any arm of a cell has: of a tunnel, of a pooler.
pub(crate) fn between(run: &Run, cell: &str) -> impl Iterator<Item = Metric> {
    let is_measured = move |metric: &Metric| {
        let mut rows = run.results.measurements.iter();
        rows.any(|row| row.cell == cell && row.metric == *metric)
    };
    Metric::OF_WHAT_IS_BETWEEN.into_iter().filter(is_measured)
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
