//! From how many queries per connection a budget is kept.

use ciphertax_records::{ChurnRow, Run};
use ciphertax_stats::{Verdict, format};
use serde::Serialize;

use super::figure::{ArmName, Figure, Range};

/// The budgets of the break-evens, the smallest first.
pub(super) fn budget_values(run: &Run) -> Vec<f64> {
    let mut budgets: Vec<f64> = run
        .results
        .churn
        .iter()
        .flat_map(|row| row.break_even.iter().map(|point| point.budget))
        .collect();
    budgets.sort_by(f64::total_cmp);
    budgets.dedup();
    budgets
}

pub(super) fn budgets(run: &Run) -> Vec<String> {
    budget_values(run).into_iter().map(format::share).collect()
}

/// The break-evens of one arm and side.
#[derive(Serialize)]
pub(super) struct ChurnView {
    arm: ArmName,
    cell: String,
    side: String,
    connect: [Figure; 2],
    query: [Figure; 2],
    query_overhead: Range,
    /// One for each budget of the table.
    break_even: Vec<Option<BreakEven>>,
}

/// From how many queries per connection a budget is kept; an absent number means never, or that it cannot be told.
#[derive(Serialize)]
struct BreakEven {
    never: bool,
    queries: Option<Figure>,
    low: Option<Figure>,
    high: Option<Figure>,
}

impl ChurnView {
    pub(super) fn of(run: &Run, row: &ChurnRow) -> Self {
        Self {
            arm: ArmName::of(run, &row.arm),
            cell: row.cell.clone(),
            side: row.side.to_string(),
            connect: [row.connect_baseline_us, row.connect_variant_us].map(Figure::microseconds),
            query: [row.query_baseline_us, row.query_variant_us].map(Figure::microseconds),
            query_overhead: Range::change(row.query_overhead),
            break_even: budget_values(run)
                .into_iter()
                .map(|budget| {
                    let point = row.break_even.iter().find(|point| point.budget == budget)?;
                    let is_sure = row.query_verdict == Verdict::Costs;
                    Some(BreakEven {
                        never: is_sure && point.queries_low.is_none(),
                        queries: point.queries.map(queries),
                        low: point.queries_low.map(queries),
                        high: point.queries_high.map(queries),
                    })
                })
                .collect(),
        }
    }
}

fn queries(queries: f64) -> Figure {
    Figure::new(queries, format::count(queries))
}
