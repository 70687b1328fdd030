//! How fast each arm did its batches: mean and standard deviation from batch to batch.

use ciphertax_model::{Metric, Pace};
use ciphertax_records::BatchRow;

use crate::cell::{BASELINE, CellSamples, value};

pub(crate) fn rows(cells: &[CellSamples<'_>]) -> Vec<BatchRow> {
    cells
        .iter()
        .filter(|cell| matches!(cell.cell.load.pace(), Pace::Batch { .. }))
        .flat_map(|cell| (BASELINE..cell.arms.len()).filter_map(move |arm| row(cell, arm)))
        .collect()
}

fn row(cell: &CellSamples<'_>, arm: usize) -> Option<BatchRow> {
    let rates: Vec<f64> = cell
        .valid(arm)
        .filter_map(|slice| value(slice, Metric::Throughput))
        .collect();
    if rates.is_empty() {
        return None;
    }
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    Some(BatchRow {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        batches: rates.len() as u32,
        mean,
        standard_deviation: (rates.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
    })
}
