//! The ratios of every block, so that a reader sees the noise.

use ciphertax_model::Metric;
use ciphertax_model::record::{CellRecord, Run};
use serde::Serialize;

use crate::format;

/// The charts of block ratios of one cell.
#[derive(Serialize)]
pub(super) struct RatioGroup {
    cell: String,
    charts: Vec<RatioChart>,
}

/// One chart of block ratios, and what it shows in words.
#[derive(Serialize)]
struct RatioChart {
    metric: Metric,
    label: &'static str,
    words: String,
}

impl RatioGroup {
    /// `None` if the cell has no blocks.
    pub(super) fn of(run: &Run, cell: &CellRecord) -> Option<Self> {
        let speed = Metric::speed(cell.pace);
        let charts: Vec<_> = [Metric::ClientCpuPerOp, Metric::ServerCpuPerOp, speed]
            .into_iter()
            .filter(|metric| {
                run.block_ratios
                    .iter()
                    .any(|row| row.cell == cell.name && row.metric == *metric && !row.ratios.is_empty())
            })
            .map(|metric| RatioChart {
                metric,
                label: metric.label(),
                words: ratio_words(run, cell, metric),
            })
            .collect();
        (!charts.is_empty()).then(|| Self {
            cell: cell.name.clone(),
            charts,
        })
    }
}

fn ratio_words(run: &Run, cell: &CellRecord, metric: Metric) -> String {
    let arms: Vec<String> = run
        .noise_floor
        .iter()
        .chain(&run.estimates)
        .filter(|row| row.cell == cell.name && row.metric == metric)
        .map(|row| {
            let interval = format::change_interval(row.change, row.low, row.high);
            format!("{} {} {interval}", row.arm, format::change(row.change))
        })
        .collect();
    format!(
        "{} against the baseline, block by block: {}",
        metric.label(),
        arms.join("; ")
    )
}
