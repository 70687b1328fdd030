//! What the record cipher costs where there is much to carry.

use ciphertax_model::Metric;
use ciphertax_model::workload::Unit;
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::format::rounded;
use ciphertax_stats::{Interval, Verdict};

use super::finding::finding;

/// Bytes of a result of the workload, in megabytes.
const MEGABYTES: f64 = 1.048_576;

pub(super) fn record_layer(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    if cell.asked.workload.descriptor().operation != Unit::BulkResult {
        return None;
    }
    let sides: Vec<(&str, &EstimateRow)> = [
        ("client", Metric::ClientCpuPerOp),
        ("server", Metric::ServerCpuPerOp),
    ]
    .into_iter()
    .filter_map(|(side, metric)| Some((side, run.results.estimate(&cell.asked.name, arm, metric)?)))
    .filter(|(_, row)| row.verdict == Verdict::Costs)
    .collect();
    if sides.is_empty() {
        return None;
    }
    let per_megabyte: Vec<String> = sides
        .iter()
        .map(|(side, row)| {
            let Interval { value, low, high } = row.difference;
            let [value, low, high] = [value, low, high].map(|us| us / MEGABYTES);
            format!(
                "{side} {}",
                rounded::microseconds_between(Interval { value, low, high })
            )
        })
        .collect();
    let cipher = run
        .head
        .arms
        .iter()
        .find(|other| other.name == arm)?
        .sessions_in(cell.found)?
        .facts
        .tls
        .as_ref()?
        .cipher
        .clone();
    let changes: Vec<String> = sides
        .iter()
        .map(|(side, row)| format!("{side} CPU {}", rounded::change(row.interval())))
        .collect();
    Some(finding(
        "record-layer",
        Severity::Cause,
        format!(
            "Encrypting a megabyte with {cipher} ({arm}) takes this much more CPU: {}.",
            per_megabyte.join(", ")
        ),
        format!(
            "cell {}: results of 1 MiB, {arm} against {}: {}",
            cell.asked.name,
            run.head.study.baseline().name,
            changes.join(", ")
        ),
    ))
}
