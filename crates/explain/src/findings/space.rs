//! What data take more on the disk.

use std::collections::HashSet;

use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::format::{bytes, rounded};

use super::finding::finding;

/// The part more that is worth a word.
const WORTH_A_WORD: f64 = 0.02;
/// By how many bytes a server makes the file of a table longer at a time at most: InnoDB by four extents
/// (<https://dev.mysql.com/doc/refman/8.4/en/innodb-file-space.html>). Two that hold the same rows may differ by that.
const PIECE: f64 = (4 << 20) as f64;

/// Once for each server, whose cells ask the same tables.
pub(super) fn space(run: &Run) -> Vec<Finding> {
    let mut told = HashSet::new();
    let mut findings = Vec::new();
    for cell in run.cells() {
        for arm in run.head.variants() {
            let findings_of_arm = of_arm(run, cell, &arm.name);
            let of_server = (&cell.found.server_id, &arm.name);
            findings.extend(findings_of_arm.filter(|_| told.insert(of_server)));
        }
    }
    findings
}

fn of_arm(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let study = &run.head.study;
    let baseline = study.baseline();
    let asked = study.arms.iter().find(|asked| asked.name == arm)?;
    if asked.at_rest == baseline.at_rest {
        return None;
    }
    let on_disk = |arm: &str| run.results.storage(&cell.asked.name, arm)?.disk_bytes;
    let (before, after) = (on_disk(&baseline.name)? as f64, on_disk(arm)? as f64);
    let pieces = match run.head.is_embedded() {
        true => 0.0,
        false => PIECE * f64::from(study.dataset.tables),
    };
    let (change, bytes_more) = (after / before - 1.0, (after - before).abs());
    if !change.is_finite() || change.abs() < WORTH_A_WORD || bytes_more <= pieces {
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
