//! Queries per connection that keep a budget, and cores at a rate.

use ciphertax_model::Metric;
use ciphertax_records::{CapacityRow, ChurnRow, Rated, Run, Side};
use ciphertax_stats::{Interval, Verdict, format};
use serde::Serialize;

use super::figure::{ArmName, Figure, Range};
use crate::answer::sides;

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

/// Extra cores at a rate that the reader chooses: queries, or new connections, per second.
#[derive(Serialize)]
pub(super) struct Capacity {
    of: Rated,
    label: &'static str,
    /// The rate of the record, which the page shows until the reader chooses another.
    rate: Figure,
    rate_exact: f64,
    rows: Vec<CapacityLine>,
}

/// One arm in one cell.
#[derive(Serialize)]
struct CapacityLine {
    arm: ArmName,
    /// The cell, where an arm has several.
    cell: String,
    /// Cores of each side.
    sides: Vec<Option<Cores>>,
}

#[derive(Serialize)]
struct Cores {
    side: String,
    cores: Range,
    /// The verdict, where it is not that they are needed.
    word: Option<&'static str>,
    /// What they are at a rate of 1.
    per_rate: [f64; 3],
}

impl Capacity {
    pub(super) fn all(run: &Run) -> Vec<Self> {
        [
            (Rated::Queries, "queries per second"),
            (Rated::Writes, "writing operations per second"),
            (Rated::Connections, "new connections per second"),
        ]
        .into_iter()
        .filter_map(|(of, label)| Self::of(run, of, label))
        .collect()
    }

    fn of(run: &Run, of: Rated, label: &'static str) -> Option<Self> {
        let rows: Vec<&CapacityRow> = run.results.capacity.iter().filter(|row| row.of == of).collect();
        let rate = rows.first()?.rate;
        let mut keys: Vec<(&str, &str)> = Vec::new();
        for row in &rows {
            let key = (row.arm.as_str(), row.cell.as_str());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let several = keys.iter().any(|key| key.1 != keys[0].1);
        let line = |(arm, cell): (&str, &str)| CapacityLine {
            arm: ArmName::of(run, arm),
            cell: if several { cell.to_owned() } else { String::new() },
            sides: sides(run)
                .iter()
                .map(|(metric, _)| {
                    let side = match metric {
                        Metric::ClientCpuPerOp => Side::Client,
                        _ => Side::Server,
                    };
                    let row = rows
                        .iter()
                        .find(|row| row.arm == arm && row.cell == cell && row.side == side)?;
                    Some(Cores::of(row))
                })
                .collect(),
        };
        Some(Self {
            of,
            label,
            rate: Figure::new(rate, format::count(rate)),
            rate_exact: rate,
            rows: keys.into_iter().map(line).collect(),
        })
    }
}

impl Cores {
    fn of(row: &CapacityRow) -> Self {
        let Interval { value, low, high } = row.extra_cores;
        let [value_text, low_text, high_text] = format::cores(value, low, high);
        Self {
            side: row.side.to_string(),
            word: match row.verdict {
                Verdict::Costs => None,
                Verdict::Gains => Some("gains"),
                Verdict::NoCost => Some("no cost"),
                Verdict::CannotTell => Some("cannot tell"),
            },
            cores: Range {
                value: Figure::new(value, value_text),
                low: Figure::new(low, low_text),
                high: Figure::new(high, high_text),
            },
            per_rate: [value, low, high].map(|cores| cores / row.rate),
        }
    }
}
