//! What encryption at rest costs for each page that leaves or enters a server's memory.

use ciphertax_model::Metric;
use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::format::{fine, rounded};
use ciphertax_stats::jackknife::interval_of;
use ciphertax_stats::{FEWEST_BLOCKS, Interval};

use super::at_rest::encrypts_at_rest_alone;
use super::finding::{finding, is_sure};
use crate::cell::{BASELINE, CellSamples, Figures, value};
use crate::error::ExplainError;

/// Pages per operation from which on there is something to divide by.
const ENOUGH: f64 = 0.01;
/// The part of the pages that are moved one way from which on the price is called that of this way.
const NEARLY_ALL: f64 = 0.95;

/// Extra CPU of the server per operation over the pages that it moves per operation, both of the same blocks: over whole rounds
/// where they were measured, since most pages are written when the slice is over.
pub(super) fn cost_per_page(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Result<Option<Finding>, ExplainError> {
    let metric = run.results.server_cpu(&cell.asked.name);
    let cost = run.results.estimate(&cell.asked.name, arm, metric);
    let Some(cost) = cost.filter(|cost| is_sure(cost) && cost.low > 0.0) else {
        return Ok(None);
    };
    let of_arm = samples.arms.iter().position(|name| name == arm);
    let Some(of_arm) = of_arm.filter(|_| encrypts_at_rest_alone(run, arm)) else {
        return Ok(None);
    };
    let rows = blocks(samples, of_arm, metric);
    let sum = |of: fn(&Block) -> f64| rows.iter().map(of).sum::<f64>();
    let operations = sum(|row| row[3]);
    let [read, written] = [sum(|row| row[4]), sum(|row| row[5])].map(|pages| pages / operations);
    if rows.len() < FEWEST_BLOCKS as usize || read + written < ENOUGH {
        return Ok(None);
    }
    let per_page: Interval = interval_of(&rows, &[[0.0], [0.0]], |means, _| {
        let [baseline_cpu, baseline_operations, cpu, operations, read, written] = means;
        (cpu - baseline_cpu / baseline_operations * operations) / (read + written)
    })?;
    let (moved, pages) = match read / (read + written) {
        share if share >= NEARLY_ALL => ("read", format!("{} are read", fine(read))),
        share if share <= 1.0 - NEARLY_ALL => ("written", format!("{} are written", fine(written))),
        _ => (
            "read or written",
            format!("{} are read and {} written", fine(read), fine(written)),
        ),
    };
    Ok(Some(finding(
        "cost-per-page",
        Severity::Cause,
        format!(
            "{}: {arm} costs the server {} for each page {moved}; {pages} per operation.",
            cell.asked.name,
            rounded::microseconds_between(per_page),
        ),
        format!(
            "{metric} {} of {}, over {} blocks",
            rounded::change(cost.interval()),
            rounded::microseconds(cost.baseline),
            rows.len()
        ),
    )))
}

/// CPU in microseconds and operations of the baseline, the same of the arm, then the pages that the arm read and wrote.
type Block = [f64; 6];

fn blocks(samples: &CellSamples<'_>, arm: usize, metric: Metric) -> Vec<Block> {
    let taken = |slice: &Figures| {
        let operations = slice.operations as f64;
        Some([value(slice, metric)? * operations, operations])
    };
    let row = |(baseline, arm): (&Figures, &Figures)| {
        let pages = arm.pages(metric)?;
        let [[baseline_cpu, baseline_operations], [cpu, operations]] = [taken(baseline)?, taken(arm)?];
        let [read, written] = [pages.read? as f64, pages.written? as f64];
        Some([baseline_cpu, baseline_operations, cpu, operations, read, written])
    };
    samples.pairs(BASELINE, arm).filter_map(row).collect()
}
