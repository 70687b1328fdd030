//! What follows for the reader: cost against queries per connection, and cores.

use ciphertax_model::record::{CapacityRow, ChurnRow, Interval, Run};
use serde::Serialize;

use super::figure::{ArmName, Figure, Range};
use crate::format;

/// The sides that have a churn curve, in the order of the record.
pub(super) fn sides(run: &Run) -> Vec<String> {
    let mut sides: Vec<String> = Vec::new();
    for row in &run.churn {
        if !sides.contains(&row.side) {
            sides.push(row.side.clone());
        }
    }
    sides
}

/// The budgets of the break-evens, the smallest first.
fn budget_values(run: &Run) -> Vec<f64> {
    let mut budgets: Vec<f64> = run
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
    side: String,
    connect: [Figure; 2],
    query: [Figure; 2],
    query_overhead: Option<Figure>,
    /// One for each budget of the table.
    break_even: Vec<Option<BreakEven>>,
}

/// From how many queries per connection a budget is kept; an absent number means never.
#[derive(Serialize)]
struct BreakEven {
    queries: Option<Figure>,
    low: Option<Figure>,
    high: Option<Figure>,
}

impl ChurnView {
    pub(super) fn of(run: &Run, row: &ChurnRow) -> Self {
        Self {
            arm: ArmName::of(run, &row.arm),
            side: row.side.clone(),
            connect: [row.connect_baseline_us, row.connect_variant_us].map(Figure::microseconds),
            query: [row.query_baseline_us, row.query_variant_us].map(Figure::microseconds),
            query_overhead: row
                .query_overhead
                .map(|overhead| Figure::percent(overhead.value, format::change(overhead.value))),
            break_even: budget_values(run)
                .into_iter()
                .map(|budget| {
                    let point = row.break_even.iter().find(|point| point.budget == budget)?;
                    Some(BreakEven {
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

/// Extra cores of one arm and side at one rate.
#[derive(Serialize)]
pub(super) struct CapacityView {
    arm: ArmName,
    side: String,
    cell: String,
    rate: Figure,
    of: String,
    cores: Range,
}

impl CapacityView {
    pub(super) fn of(run: &Run, row: &CapacityRow) -> Self {
        let Interval { value, low, high } = row.extra_cores;
        let [value_text, low_text, high_text] = format::cores(value, low, high);
        Self {
            arm: ArmName::of(run, &row.arm),
            side: row.side.clone(),
            cell: row.cell.clone(),
            rate: Figure::new(row.rate, format::count(row.rate)),
            of: match row.of.as_str() {
                "connections" => "new connections".into(),
                of => of.into(),
            },
            cores: Range {
                value: Figure::new(value, value_text),
                low: Figure::new(low, low_text),
                high: Figure::new(high, high_text),
            },
        }
    }
}
