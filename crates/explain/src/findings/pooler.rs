//! What a pooler takes and saves.

use ciphertax_model::Metric;
use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::Interval;
use ciphertax_stats::format::rounded;

use super::finding::finding;

/// What an operation through a pooler takes of both the server and the pooler, against the server alone.
pub(super) fn pooler(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let cell_name = &cell.asked.name;
    let server = run.results.estimate(cell_name, arm, Metric::ServerCpuPerOp)?;
    let is_of = |metric| metric == Metric::PoolerCpuPerOp;
    let mut measured = run.results.measurements.iter();
    let pooler = measured.find(|row| is_of(row.metric) && row.cell == *cell_name && row.arm == arm)?;
    // The pooler's part is the same whatever the server's is in truth.
    let part = pooler.value / server.baseline;
    let both = Interval {
        value: server.change + part,
        low: server.low + part,
        high: server.high + part,
    };
    let floor = server.floor.unwrap_or(0.0);
    if both.low < floor && both.high > -floor {
        return None;
    }
    let what = match cell.asked.workload.makes_connections() {
        true => "a connect",
        false => "an operation",
    };
    let (together, what_to_do) = match both.value < 0.0 {
        true => (format!("{} less", rounded::share(-both.value)), ""),
        false => (
            rounded::more(both.value),
            " It pays where clients cannot keep their connections.",
        ),
    };
    Some(finding(
        "pooler",
        Severity::Cause,
        format!(
            "{cell_name}: through the pooler of {arm}, {what} takes {} of the server's CPU instead of {} and {} of the pooler's: \
             together {together}.{what_to_do}",
            rounded::microseconds(server.variant),
            rounded::microseconds(server.baseline),
            rounded::microseconds(pooler.value),
        ),
        format!(
            "server CPU {}, with the pooler's {}, over {} blocks",
            rounded::change(server.interval()),
            rounded::change(both),
            server.blocks
        ),
    ))
}
