//! What data take more on the disk.

use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::format::{bytes, rounded};

use super::finding::finding;

/// The part more that is worth a word: files grow by whole pieces.
const WORTH_A_WORD: f64 = 0.02;

pub(super) fn space(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let baseline = &run.head.study.baseline().name;
    let on_disk = |arm: &str| run.results.storage(&cell.asked.name, arm)?.disk_bytes;
    let (before, after) = (on_disk(baseline)? as f64, on_disk(arm)? as f64);
    let change = after / before - 1.0;
    if !change.is_finite() || change.abs() < WORTH_A_WORD {
        return None;
    }
    Some(finding(
        "space",
        Severity::Cause,
        format!(
            "{}: over {arm} the same rows take {} space on the disk: {} instead of {}.",
            cell.asked.name,
            rounded::percent(change),
            bytes(after),
            bytes(before)
        ),
        "tables with their indexes once they were loaded".to_owned(),
    ))
}
