//! Which of several servers that hold the same data pays.

use ciphertax_records::{Finding, Severity};
use ciphertax_stats::format;

use super::finding::finding;
use crate::cell::{BASELINE, CellSamples};

/// Servers that use less than this, of all, are not told of what is asked.
const TOLD: f64 = 0.05;

/// What an operation of the baseline costs each.
pub(super) fn whose_cpu(cell: &CellSamples<'_>) -> Option<Finding> {
    let each_us = cell.nodes.each_us()?;
    let all: f64 = each_us.iter().sum();
    let shares: Vec<f64> = each_us.iter().map(|us| us / all).collect();
    let listed = |values: &[f64], words: fn(f64) -> String| {
        let values: Vec<String> = values.iter().copied().map(words).collect();
        values.join(", ")
    };
    let told = shares.iter().filter(|share| **share >= TOLD).count();
    let says = match told {
        0 | 1 => "almost all the server's CPU time is that of one of its servers".to_owned(),
        _ => format!(
            "the server's CPU time is that of its servers together: {} of it",
            listed(&shares, format::rounded::share)
        ),
    };
    Some(finding(
        "whose-cpu",
        Severity::Cause,
        format!("{}: {says}.", cell.cell.name),
        format!(
            "{} an operation, in the order in which they were started, over {} slices of {}",
            listed(&each_us, format::microseconds),
            cell.nodes.slices,
            cell.arms[BASELINE]
        ),
    ))
}
