//! One estimate, as a table shows it.

use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::{Verdict, format};
use serde::Serialize;

use super::figure::{Figure, Range};
use super::verdict::VerdictView;

/// One estimate, with everything a test needs to find it and compare it with the record.
#[derive(Serialize)]
pub(super) struct ChangeView {
    cell: String,
    arm: String,
    metric: Metric,
    verdict: Verdict,
    verdict_view: VerdictView,
    wanted: Option<String>,
    blocks: u32,
    variant: Figure,
    change: Range,
    difference: Range,
}

impl ChangeView {
    pub(super) fn of(run: &Run, row: &EstimateRow) -> Self {
        Self {
            cell: row.cell.clone(),
            arm: row.arm.clone(),
            metric: row.metric,
            verdict: row.verdict,
            verdict_view: VerdictView::of(run, row),
            wanted: row
                .more_time_s
                .map(|seconds| format!("{} more to tell", format::span(seconds))),
            blocks: row.blocks,
            variant: Figure::quantity(row.variant, &row.unit),
            change: Range::change(row.interval()),
            difference: Range::difference(row),
        }
    }
}
