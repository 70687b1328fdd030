//! Which of several servers that hold the same data pays.

use ciphertax_records::{Finding, Severity};
use ciphertax_stats::format;

use super::finding::finding;
use crate::cell::{BASELINE, CellSamples};

/// Servers that use less than this, of all, are not told of what is asked.
const TOLD: f64 = 0.05;

/// What an operation of the baseline costs each.
pub(super) fn whose_cpu(cell: &CellSamples<'_>) -> Option<Finding> {
    let of_nodes = cell.nodes.of(BASELINE)?;
    let shares = of_nodes.shares();
    let words = |values: Vec<String>| values.join(", ");
    let told = shares.iter().filter(|share| **share >= TOLD).count();
    let says = match told {
        0 | 1 => "almost all the server's CPU time is that of one of its servers".to_owned(),
        _ => format!(
            "the server's CPU time is that of its servers together: {} of it",
            words(shares.iter().map(|share| whole_percent(*share)).collect())
        ),
    };
    Some(finding(
        "whose-cpu",
        Severity::Cause,
        format!("{}: {says}.", cell.cell.name),
        format!(
            "{} an operation, in the order in which they were started, over {} slices of {}",
            words(
                of_nodes
                    .each_us
                    .iter()
                    .map(|us| format::microseconds(*us))
                    .collect()
            ),
            of_nodes.slices,
            cell.arms[BASELINE]
        ),
    ))
}

fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
