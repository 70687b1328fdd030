//! What encryption at rest costs for each page that leaves or enters a server's memory.

use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, Severity};
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

/// Extra CPU of the server per operation over the pages that it moves per operation, both of the same blocks.
pub(super) fn cost_per_page(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Result<Option<Finding>, ExplainError> {
    let cost = run
        .results
        .estimate(&cell.asked.name, arm, Metric::ServerCpuPerOp);
    let Some(cost) = cost.filter(|cost| is_sure(cost) && cost.low > 0.0) else {
        return Ok(None);
    };
    let of_arm = samples.arms.iter().position(|name| name == arm);
    let Some(of_arm) = of_arm.filter(|_| encrypts_at_rest_alone(run, arm)) else {
        return Ok(None);
    };
    let rows = blocks(samples, of_arm, cost);
    let count = rows.len() as f64;
    let [read, written] = [2, 3].map(|column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / count);
    if rows.len() < FEWEST_BLOCKS as usize || read + written < ENOUGH {
        return Ok(None);
    }
    let per_page: Interval = interval_of(&rows, &[[0.0], [0.0]], |[baseline, arm, read, written], _| {
        (arm.exp() - baseline.exp()) / (read + written)
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
            "server CPU {} of {} per operation, over {} blocks",
            rounded::change(cost.interval()),
            rounded::microseconds(cost.baseline),
            rows.len()
        ),
    )))
}

/// Block by block: logarithms of the CPU per operation in microseconds, of the baseline and of the arm, then the pages that the
/// arm read and wrote per operation. The logarithms are moved so that the baseline's mean is its value in the tables.
fn blocks(samples: &CellSamples<'_>, arm: usize, cost: &EstimateRow) -> Vec<[f64; 4]> {
    let log = |slice: &Figures| value(slice, Metric::ServerCpuPerOp).map(f64::ln);
    let per_operation = |slice: &Figures, pages: Option<i64>| Some(pages? as f64 / slice.operations as f64);
    let row = |(baseline, arm): (&Figures, &Figures)| {
        Some([
            log(baseline)?,
            log(arm)?,
            per_operation(arm, arm.pages.read)?,
            per_operation(arm, arm.pages.written)?,
        ])
    };
    let mut rows: Vec<[f64; 4]> = samples.pairs(BASELINE, arm).filter_map(row).collect();
    let mean = rows.iter().map(|row| row[0]).sum::<f64>() / rows.len() as f64;
    let shift = cost.baseline.ln() - mean;
    for row in &mut rows {
        row[0] += shift;
        row[1] += shift;
    }
    rows
}
