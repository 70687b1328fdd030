//! What encrypted columns cost, and what of it is the cells' bytes, their encoding, their cipher, or a driver's eagerness.

mod cost_per_cell;
mod linear;
mod step;
mod steps;
mod unprotected;

use ciphertax_base::Interval;
use ciphertax_model::{Arm, ColumnEncryption, Metric};
use ciphertax_records::{Finding, MeasuredCell, Run};
use ciphertax_stats::FEWEST_BLOCKS;
use ciphertax_stats::jackknife::interval_of;

use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::{CellSamples, value};

pub(super) use unprotected::unprotected;

/// Who pays for a cell: whoever makes it, and whoever reads it.
const PAID: [Metric; 2] = [Metric::ClientCpuPerOp, Metric::ServerCpuPerOp];

/// Of all arms of a cell.
pub(super) fn in_cell(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    let costs = cost_per_cell::costs(run, samples, cell)?;
    findings.extend(costs.iter().map(cost_per_cell::CostPerCell::finding));
    findings.extend(linear::linear(&costs));
    findings.extend(steps::steps(run, samples, cell)?);
    Ok(findings)
}

/// The arms of a cell with encrypted columns, in the study's order.
fn arms<'a>(run: &'a Run, cell: MeasuredCell<'a>) -> impl Iterator<Item = (&'a Arm, &'a ColumnEncryption)> {
    let arms = run.head.study.arms_of(cell.asked);
    arms.filter_map(|arm| Some((arm, arm.columns.as_ref()?)))
}

/// By how much a metric of one arm is more than that of another, per operation and in the metric's unit, from the blocks in which
/// both were measured; `None` where these are too few.
fn more_than(
    samples: &CellSamples<'_>,
    one: &str,
    other: &str,
    metric: Metric,
) -> Result<Option<Interval>, EstimateError> {
    let place = |name: &str| samples.arms.iter().position(|arm| arm == name);
    let (Some(one), Some(other)) = (place(one), place(other)) else {
        return Ok(None);
    };
    let row = |(a, b): (
        &ciphertax_estimate::cell::Figures,
        &ciphertax_estimate::cell::Figures,
    )| {
        let (of_a, of_b) = (a.operations as f64, b.operations as f64);
        Some([value(a, metric)? * of_a, of_a, value(b, metric)? * of_b, of_b])
    };
    let rows: Vec<[f64; 4]> = samples.pairs(one, other).filter_map(row).collect();
    if rows.len() < FEWEST_BLOCKS as usize {
        return Ok(None);
    }
    let more = interval_of(&rows, &[[0.0], [0.0]], |[a, of_a, b, of_b], _| {
        b / of_b - a / of_a
    })?;
    Ok(Some(more))
}
