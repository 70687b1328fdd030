//! What an arm with encrypted columns costs for each of its cells.

use ciphertax_base::Interval;
use ciphertax_base::format::{fine, rounded};
use ciphertax_model::{ColumnEncryption, Metric};
use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::jackknife::interval_of;

use super::super::finding::{finding, is_sure};
use super::{PAID, arms};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::{BASELINE, CellSamples, Figures, value};

/// Cells per operation from which on there is something to divide by.
const ENOUGH: f64 = 0.1;

/// What one side pays for an arm's cells.
pub(super) struct CostPerCell {
    pub(super) cell: String,
    pub(super) arm: String,
    pub(super) columns: ColumnEncryption,
    pub(super) metric: Metric,
    /// Cells that were encrypted and decrypted, per operation.
    pub(super) cells: f64,
    /// More CPU time per operation than the baseline's, in microseconds.
    pub(super) per_operation: Interval,
    /// The same for each cell.
    pub(super) per_cell: Interval,
}

/// Of all arms of a cell with encrypted columns that surely cost something.
pub(super) fn costs(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<CostPerCell>, EstimateError> {
    let mut costs = Vec::new();
    for (arm, columns) in arms(run, cell) {
        let Some(place) = samples.arms.iter().position(|name| *name == arm.name) else {
            continue;
        };
        for metric in PAID {
            let cost = run.results.estimate(&cell.asked.name, &arm.name, metric);
            let Some(cost) = cost.filter(|cost| is_sure(cost) && cost.low > 0.0) else {
                continue;
            };
            let rows: Vec<Block> = samples
                .pairs(BASELINE, place)
                .filter_map(|pair| block(pair, metric))
                .collect();
            let sum = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>();
            let cells = sum(4) / sum(3);
            if rows.len() < cost.blocks.max(2) as usize || !cells.is_finite() || cells < ENOUGH {
                continue;
            }
            let more = |[baseline_cpu, baseline_operations, cpu, operations, _]: &Block| {
                cpu / operations - baseline_cpu / baseline_operations
            };
            costs.push(CostPerCell {
                cell: cell.asked.name.clone(),
                arm: arm.name.clone(),
                columns: columns.clone(),
                metric,
                cells,
                per_operation: interval_of(&rows, &[[0.0], [0.0]], |means, _| more(means))?,
                per_cell: interval_of(&rows, &[[0.0], [0.0]], |means, _| {
                    more(means) * means[3] / means[4]
                })?,
            });
        }
    }
    Ok(costs)
}

/// CPU in microseconds and operations of the baseline, the same of the arm, and the arm's cells.
type Block = [f64; 5];

fn block((baseline, arm): (&Figures, &Figures), metric: Metric) -> Option<Block> {
    let taken = |slice: &Figures| {
        let operations = slice.operations as f64;
        Some([value(slice, metric)? * operations, operations])
    };
    let [[baseline_cpu, baseline_operations], [cpu, operations]] = [taken(baseline)?, taken(arm)?];
    Some([
        baseline_cpu,
        baseline_operations,
        cpu,
        operations,
        arm.cells as f64,
    ])
}

impl CostPerCell {
    pub(super) fn finding(&self) -> Finding {
        let Self { cell, arm, .. } = self;
        finding(
            "cost-per-cell",
            Severity::Cause,
            format!(
                "{cell}: {arm} costs the {} {} for each of {} cells per operation.",
                payer(self.metric),
                rounded::microseconds_between(self.per_cell),
                fine(self.cells),
            ),
            format!(
                "{} per operation more than the baseline, {}",
                rounded::microseconds_between(self.per_operation),
                self.columns
            ),
        )
    }
}

/// Whose CPU a metric is.
pub(super) fn payer(metric: Metric) -> &'static str {
    match metric {
        Metric::ClientCpuPerOp => "client",
        _ => "server",
    }
}
