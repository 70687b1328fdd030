//! An arm that was slow in more blocks than chance has it: the mean is what its users pay.

use ciphertax_records::{EstimateRow, Finding, Run, Severity};
use ciphertax_stats::{DisturbedBlocks, Location};

use super::finding::finding;

/// One for each cell and arm, of the metric that tells it best.
pub(super) fn own_stalls(run: &Run) -> Vec<Finding> {
    let mut told: Vec<(&EstimateRow, DisturbedBlocks)> = Vec::new();
    for row in &run.results.estimates {
        let (Some(Location::Mean), Some(disturbed)) = (row.location, row.disturbed) else {
            continue;
        };
        let same = told
            .iter_mut()
            .find(|(other, _)| (&other.cell, &other.arm) == (&row.cell, &row.arm));
        match same {
            Some(other) if far(&other.1) < far(&disturbed) => *other = (row, disturbed),
            Some(_) => {}
            None => told.push((row, disturbed)),
        }
    }
    told.into_iter()
        .map(|(row, disturbed)| of_row(row, &disturbed))
        .collect()
}

/// How far the variant's number is from its share of a third.
fn far(disturbed: &DisturbedBlocks) -> u32 {
    (2 * disturbed.variant).abs_diff(disturbed.baseline + disturbed.baseline_again)
}

fn of_row(row: &EstimateRow, disturbed: &DisturbedBlocks) -> Finding {
    let of_baselines = disturbed.baseline + disturbed.baseline_again;
    let which = match 2 * disturbed.variant > of_baselines {
        true => format!("{} had slow slices of its own more often than by chance", row.arm),
        false => format!(
            "{} had fewer slow slices than the baseline, not by chance",
            row.arm
        ),
    };
    finding(
        "own-stalls",
        Severity::Cause,
        format!(
            "{}: {which}. That is a part of what it costs, so {} is given by the mean of all blocks.",
            row.cell, row.metric
        ),
        format!(
            "slower by far than both others of their block: {} of {} slices of {}, {} and {} of the baseline and its repetition",
            disturbed.variant, row.blocks, row.arm, disturbed.baseline, disturbed.baseline_again
        ),
    )
}
