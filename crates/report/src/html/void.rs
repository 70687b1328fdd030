//! Slices that do not count.

use ciphertax_records::Run;
use ciphertax_stats::format;
use serde::Serialize;

use super::figure::{ArmName, Item};
use crate::describe;

/// Void slices shown one by one; the rest are counted and in the record.
const VOID_ROWS: usize = 100;

/// Slices that do not count: by reason, and one by one.
#[derive(Serialize)]
pub(super) struct VoidView {
    count: String,
    groups: Vec<Item>,
    rows: Vec<VoidSlice>,
    left_out: usize,
}

/// One slice that does not count.
#[derive(Serialize)]
struct VoidSlice {
    cell: String,
    block: u32,
    arm: ArmName,
    reason: String,
}

impl VoidView {
    pub(super) fn of(run: &Run) -> Self {
        Self {
            count: format::count(run.results.void.len() as f64),
            groups: describe::void_groups(run)
                .into_iter()
                .map(|group| Item::new(group.kind, format::count(group.count as f64)))
                .collect(),
            rows: run
                .results
                .void
                .iter()
                .take(VOID_ROWS)
                .map(|row| VoidSlice {
                    cell: row.cell.clone(),
                    block: row.block,
                    arm: ArmName::of(run, &row.arm),
                    reason: row.reason.to_string(),
                })
                .collect(),
            left_out: run.results.void.len().saturating_sub(VOID_ROWS),
        }
    }
}
