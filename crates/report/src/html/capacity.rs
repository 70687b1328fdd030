//! Queries per connection that keep a budget, cores at a rate, and cost against queries per connection as curves.

use std::fmt::Write;

use ciphertax_base::{Interval, format};
use ciphertax_model::Metric;
use ciphertax_records::{CapacityRow, ChurnPoint, ChurnRow, Rated, Run, Side};
use ciphertax_stats::Verdict;
use serde::Serialize;

use super::figure::{ArmName, Figure, Range};
use super::forest::{ROUND, Tick, percent};
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
    /// True if noise is larger than the budget.
    is_noise: bool,
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
                    Some(BreakEven {
                        never: row.is_never_within(point),
                        is_noise: point.queries_high.is_some() && !row.is_within(point),
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
        let [value_text, low_text, high_text] = format::cores(row.extra_cores);
        Self {
            side: row.side.to_string(),
            word: match row.verdict {
                Verdict::Costs => None,
                Verdict::Gains => Some("gains"),
                Verdict::NoCost => Some("no cost"),
                Verdict::CostsPerhaps | Verdict::GainsPerhaps => Some("perhaps"),
                Verdict::CannotTell => Some("not decided"),
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

/// The sides of a churn model, in the order of the charts.
const SIDES: [Side; 3] = [Side::Server, Side::Client, Side::Both];

/// Cost against queries per connection: the curves of one side in one cell, on logarithmic axes.
#[derive(Serialize)]
pub(super) struct ChurnChart {
    cell: String,
    side: String,
    /// The cell, where there are several.
    of: String,
    curves: Vec<Curve>,
    across: Vec<Tick>,
    up: Vec<Tick>,
    /// What the chart shows, in words.
    words: String,
}

/// One arm.
#[derive(Serialize)]
struct Curve {
    arm: ArmName,
    /// In a square of 1000 by 1000.
    line: String,
    band: String,
    reached: Vec<Reached>,
}

/// Where a curve falls below a budget.
#[derive(Serialize)]
struct Reached {
    x: String,
    y: String,
    words: String,
}

impl ChurnChart {
    /// Every side of every cell that has a churn model.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        let mut keys: Vec<(&str, Side)> = Vec::new();
        for row in &run.results.churn {
            let key = (row.cell.as_str(), row.side);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let several = keys.iter().any(|key| key.0 != keys[0].0);
        let by_cell: Vec<&str> = keys.iter().map(|key| key.0).collect();
        let place = |cell: &str| by_cell.iter().position(|other| *other == cell);
        keys.sort_by_key(|(cell, side)| (place(cell), SIDES.iter().position(|other| other == side)));
        keys.into_iter()
            .filter_map(|(cell, side)| {
                let rows: Vec<&ChurnRow> = run
                    .results
                    .churn
                    .iter()
                    .filter(|row| row.cell == cell && row.side == side)
                    .collect();
                let mut chart = Self::of(run, &rows)?;
                if several {
                    chart.of = cell.to_owned();
                }
                Some(chart)
            })
            .collect()
    }

    fn of(run: &Run, rows: &[&ChurnRow]) -> Option<Self> {
        let first = rows.first()?;
        let axes = ChurnAxes::over(rows.iter().flat_map(|row| &row.points))?;
        Some(Self {
            cell: first.cell.clone(),
            side: first.side.to_string(),
            of: String::new(),
            curves: rows
                .iter()
                .filter(|row| !row.points.is_empty())
                .map(|row| Curve {
                    arm: ArmName::of(run, &row.arm),
                    line: axes.line(
                        row.points
                            .iter()
                            .map(|point| (point.queries, point.overhead.value)),
                    ),
                    band: axes.band(&row.points),
                    reached: axes.reached(row),
                })
                .collect(),
            across: axes.across(),
            up: axes.up(budget_values(run).last().copied().unwrap_or_default()),
            words: words(rows),
        })
    }
}

fn words(rows: &[&ChurnRow]) -> String {
    let ends = rows.iter().filter_map(|row| {
        let (one, many) = (row.points.first()?, row.points.last()?);
        Some(format!(
            "{}: {} with {} per connection, {} with {}",
            row.arm,
            format::change(one.overhead.value),
            format::count(one.queries),
            format::change(many.overhead.value),
            format::count(many.queries)
        ))
    });
    ends.collect::<Vec<_>>().join("; ")
}

/// Queries per connection across, on a logarithmic axis; the overhead up, linear within ±2 % and logarithmic beyond.
struct ChurnAxes {
    most_queries: f64,
    low: f64,
    high: f64,
}

impl ChurnAxes {
    fn over<'a>(points: impl Iterator<Item = &'a ChurnPoint> + Clone) -> Option<Self> {
        let points = || points.clone();
        let most_queries = points().map(|point| point.queries).fold(0.0, f64::max);
        let values = points().map(|point| point.overhead);
        let largest = values
            .clone()
            .map(|overhead| overhead.value.abs())
            .fold(0.1, f64::max);
        let (low, high) = values.fold((0.0_f64, 0.1_f64), |(low, high), overhead| {
            (
                low.min(overhead.low.max(-largest)),
                high.max(overhead.high.min(3.0 * largest)),
            )
        });
        // The ends are ticks, so that what is near them can be read.
        let below = BELOW.into_iter().rev().find(|tick| *tick <= low);
        (most_queries > 1.0).then_some(Self {
            most_queries,
            low: below.filter(|_| low < 0.0).unwrap_or(low),
            high: ROUND.into_iter().find(|tick| *tick >= high).unwrap_or(high),
        })
    }

    fn bent(overhead: f64) -> f64 {
        overhead.signum() * (overhead.abs() / 0.02).ln_1p()
    }

    /// Shares of the width and of the height, from the left and from the top.
    fn at(&self, queries: f64, overhead: f64) -> (f64, f64) {
        let (low, high) = (Self::bent(self.low), Self::bent(self.high));
        let x = queries.max(1.0).ln() / self.most_queries.ln();
        let y = (high - Self::bent(overhead)) / (high - low);
        (x.clamp(0.0, 1.0), y.clamp(0.0, 1.0))
    }

    fn line(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (queries, overhead) in points {
            let (x, y) = self.at(queries, overhead);
            let step = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{step}{:.0} {:.0}", x * 1e3, y * 1e3);
        }
        path
    }

    fn band(&self, points: &[ChurnPoint]) -> String {
        let upper = points.iter().map(|point| (point.queries, point.overhead.high));
        let lower = points
            .iter()
            .rev()
            .map(|point| (point.queries, point.overhead.low));
        self.line(upper.chain(lower)) + "Z"
    }

    fn reached(&self, row: &ChurnRow) -> Vec<Reached> {
        row.break_even
            .iter()
            .filter_map(|point| {
                let queries = point
                    .queries
                    .filter(|_| row.is_within(point))
                    .filter(|queries| *queries > 1.0 && *queries <= self.most_queries)?;
                let (x, y) = self.at(queries, point.budget);
                Some(Reached {
                    x: percent(x * 100.0),
                    y: percent(y * 100.0),
                    words: format!(
                        "{}: below {} from {} queries per connection on",
                        row.arm,
                        format::share(point.budget),
                        format::count(queries)
                    ),
                })
            })
            .collect()
    }

    /// 1, 100, 10,000, …
    fn across(&self) -> Vec<Tick> {
        (0..=self.most_queries.log10().round() as i32)
            .step_by(2)
            .map(|power| {
                let queries = 10_f64.powi(power);
                Tick {
                    at: percent(self.at(queries, 0.0).0 * 100.0),
                    text: match power {
                        6.. => format!("{} M", format::plain(queries / 1e6)),
                        4.. => format!("{} k", format::plain(queries / 1e3)),
                        _ => format::count(queries),
                    },
                }
            })
            .collect()
    }

    /// Zero, the largest budget, and as many round overheads as have room, from the ends inwards.
    fn up(&self, budget: f64) -> Vec<Tick> {
        let mut shown: Vec<f64> = Vec::new();
        let above = ROUND.into_iter().rev();
        for value in [0.0, budget].into_iter().chain(above).chain(BELOW) {
            let is_inside = (self.low * 1.0001..=self.high * 1.0001).contains(&value);
            let y = self.at(1.0, value).1;
            if is_inside && shown.iter().all(|other| (self.at(1.0, *other).1 - y).abs() > 0.1) {
                shown.push(value);
            }
        }
        shown
            .into_iter()
            .map(|value| Tick {
                at: percent(self.at(1.0, value).1 * 100.0),
                text: format::share(value).replace('-', "−"),
            })
            .collect()
    }
}

/// Savings that a tick may have.
const BELOW: [f64; 7] = [-1.0, -0.9, -0.5, -0.3, -0.1, -0.05, -0.01];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_the_overheads_are_ticks() {
        for (values, first, last) in [([0.02, 3.87], "0 %", "500 %"), ([-0.87, 0.03], "−90 %", "10 %")] {
            let points = values.map(|value| ChurnPoint {
                queries: 1_000.0,
                overhead: Interval {
                    value,
                    low: value,
                    high: value,
                },
            });
            let axes = ChurnAxes::over(points.iter()).unwrap();
            let mut ticks = axes.up(0.1);
            ticks.sort_by(|one, other| one.at.len().cmp(&other.at.len()).then(one.at.cmp(&other.at)));
            assert_eq!((&*ticks[0].at, &*ticks[0].text), ("0.00%", last));
            let bottom = ticks.last().unwrap();
            assert_eq!((&*bottom.at, &*bottom.text), ("100.00%", first));
        }
    }
}
