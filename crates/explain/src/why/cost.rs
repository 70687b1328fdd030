//! What looking cost: slices that were looked into, beside those of the same arm in the blocks before and after.

use ciphertax_records::why::{Look, LookCost};
use ciphertax_stats::{Estimate, FEWEST_BLOCKS, Interval};

use super::slices::CellSlices;
use crate::cell::BASELINE;
use crate::folder::ExplainError;

/// Of one cell, by how it was looked.
pub(super) fn of_cell(cell: &CellSlices<'_>) -> Result<Vec<LookCost>, ExplainError> {
    let mut rows = Vec::new();
    for look in [Look::Waits, Look::Full] {
        let series: Vec<f64> = cell
            .blocks
            .keys()
            .filter_map(|block| log_ratio(cell, *block, look))
            .collect();
        let is_looked = |slices: &&Vec<_>| {
            let mut slices = slices.iter().flatten();
            slices.any(|slice: &super::slices::Slice| slice.look == Some(look))
        };
        let blocks = cell.blocks.values().filter(is_looked).count() as u32;
        if blocks == 0 {
            continue;
        }
        let mut server_cpu = None;
        if series.len() >= FEWEST_BLOCKS as usize {
            let estimate = Estimate::of_log_ratios(&series)?;
            server_cpu = Some(Interval {
                value: estimate.change,
                low: estimate.low,
                high: estimate.high,
            });
        }
        rows.push(LookCost {
            cell: cell.cell.name.clone(),
            look,
            server_cpu,
            blocks,
        });
    }
    Ok(rows)
}

/// By how much all arms together took more in a block than beside it, as a logarithm; `None` where none can be compared.
fn log_ratio(cell: &CellSlices<'_>, block: u32, look: Look) -> Option<f64> {
    let of_arm = |arm: usize| {
        let slice = cell.get(block, arm)?;
        let own = log_cpu(cell, block, arm)?;
        let before = cell.blocks.range(..block).rev();
        let after = cell.blocks.range(block..).skip(1);
        let nearest = [
            before
                .map(|(number, _)| *number)
                .find_map(|number| plain(cell, number, arm)),
            after
                .map(|(number, _)| *number)
                .find_map(|number| plain(cell, number, arm)),
        ];
        let beside = mean(nearest.into_iter().flatten())?;
        (slice.look == Some(look)).then_some(own - beside)
    };
    mean((BASELINE..cell.arms.len()).filter_map(of_arm))
}

/// The logarithm of what an arm's server took per operation in a block that was not looked into.
fn plain(cell: &CellSlices<'_>, block: u32, arm: usize) -> Option<f64> {
    let slice = cell.get(block, arm)?;
    slice.look.is_none().then(|| log_cpu(cell, block, arm))?
}

fn log_cpu(cell: &CellSlices<'_>, block: u32, arm: usize) -> Option<f64> {
    let slice = cell.get(block, arm)?;
    let us = slice.us_of(slice.server_cpu?.total_ns as f64);
    (us > 0.0).then(|| us.ln())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
