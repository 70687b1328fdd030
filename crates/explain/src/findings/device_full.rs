//! A disk that has no more to give, whatever is encrypted on it.

use ciphertax_model::Metric;
use ciphertax_records::{Finding, MeasuredCell, Run, Severity, StorageRow};
use ciphertax_stats::Verdict;
use ciphertax_stats::format::{bytes, fine_share, rounded};

use super::at_rest::encrypts_at_rest_alone;
use super::finding::{finding, is_sure};

/// The part of the time that a device is busy from which on it is full.
const FULL: f64 = 0.9;

pub(super) fn device_full(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let name = &cell.asked.name;
    let baseline = &run.head.study.baseline().name;
    let cost = run.results.estimate(name, arm, run.results.server_cpu(name))?;
    let speed = run.results.estimate(name, arm, Metric::Throughput)?;
    let only_cpu = is_sure(cost) && cost.low > 0.0 && speed.verdict != Verdict::Costs;
    let (before, after) = (
        run.results.storage(name, baseline)?,
        run.results.storage(name, arm)?,
    );
    let is_full = |row: &StorageRow| row.device_busy.is_some_and(|busy| busy >= FULL);
    if !only_cpu || !is_full(before) || !is_full(after) || !encrypts_at_rest_alone(run, arm) {
        return None;
    }
    let told = |row: &StorageRow| {
        let busy = row.device_busy.map(fine_share).unwrap_or_default();
        format!(
            "busy {busy} of the time, {}/s",
            bytes(row.device_bytes_per_s.unwrap_or(0.0))
        )
    };
    Some(finding(
        "device-full",
        Severity::Cause,
        format!(
            "{name}: the device is full at {}/s without encryption and at {}/s with it, so {arm} does not change the throughput: it \
             only raises the server's CPU, by {}.",
            bytes(before.device_bytes_per_s.unwrap_or(0.0)),
            bytes(after.device_bytes_per_s.unwrap_or(0.0)),
            rounded::change(cost.interval())
        ),
        format!(
            "{baseline}: {}; {arm}: {}; throughput {}",
            told(before),
            told(after),
            rounded::change(speed.interval())
        ),
    ))
}
