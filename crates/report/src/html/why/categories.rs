//! Where a variant takes more CPU time than the baseline, category by category.

use ciphertax_records::Run;
use ciphertax_records::why::{CategoryRow, DifferenceOfSide, ProfiledSide};
use ciphertax_stats::{Interval, format};
use serde::Serialize;

use super::super::figure::{ArmName, Figure, Range};
use super::super::scale::{Tick, percent};
use crate::why::words::{account_in_words, basis_in_words, difference_in_words, difference_of, side_word};

/// So many categories have a bar; the others are in the table alone.
const BARS: usize = 8;
/// Room at both ends of the axis, in percent of its width.
const EDGE: f64 = 3.0;

/// One side of one variant in a cell.
#[derive(Serialize)]
pub(super) struct Categories {
    cell: String,
    arm: ArmName,
    arm_name: String,
    side: &'static str,
    bars: Vec<DifferenceBar>,
    ticks: Vec<Tick>,
    rows: Vec<CategoryLine>,
    account: Option<String>,
    basis: Option<String>,
}

/// A category as a bar from zero to its difference.
#[derive(Serialize)]
struct DifferenceBar {
    category: String,
    words: String,
    zero: String,
    x: String,
    width: String,
    /// Where its interval begins and ends.
    interval: Option<[String; 2]>,
    /// Where noise begins and how wide it is.
    floor: Option<[String; 2]>,
    /// `more`, `less`, or `noise`.
    class: &'static str,
    difference: Figure,
    range: Option<Range>,
}

/// A category in numbers.
#[derive(Serialize)]
struct CategoryLine {
    category: String,
    baseline: Figure,
    variant: Figure,
    difference: Option<Range>,
    floor: Option<Figure>,
    is_significant: bool,
}

impl Categories {
    /// Those of all variants in a cell, of both sides.
    pub(super) fn all(run: &Run, cell: &str) -> Vec<Self> {
        let sides = [ProfiledSide::Server, ProfiledSide::Client];
        let variants = run.head.variants();
        variants
            .flat_map(|arm| sides.map(|side| Self::of(run, cell, &arm.name, side)))
            .flatten()
            .collect()
    }

    fn of(run: &Run, cell: &str, arm: &str, side: ProfiledSide) -> Option<Self> {
        let why = &run.results.why;
        let rows: Vec<&CategoryRow> = why
            .categories
            .iter()
            .filter(|row| row.cell == cell && row.arm == arm && row.side == side)
            .collect();
        if rows.is_empty() {
            return None;
        }
        let is_of_side = |row: &&DifferenceOfSide| row.cell == cell && row.arm == arm && row.side == side;
        let of_side = why.differences.iter().find(is_of_side);
        let shown = &rows[..rows.len().min(BARS)];
        let axis = Axis::over(shown);
        Some(Self {
            cell: cell.to_owned(),
            arm: ArmName::of(run, arm),
            arm_name: arm.to_owned(),
            side: side_word(side),
            bars: shown.iter().map(|row| bar(row, &axis)).collect(),
            ticks: axis.ticks(),
            rows: rows.iter().map(|row| line(row)).collect(),
            account: of_side.map(account_in_words),
            basis: of_side.map(basis_in_words),
        })
    }
}

fn bar(row: &CategoryRow, axis: &Axis) -> DifferenceBar {
    let value = difference_of(row);
    let (from, to) = (axis.at(value.min(0.0)), axis.at(value.max(0.0)));
    let words = match row.difference {
        Some(difference) => difference_in_words(difference),
        None => format!(
            "{}, too few blocks for an interval",
            crate::why::words::microseconds_more(value)
        ),
    };
    let class = match row.is_significant {
        true if value > 0.0 => "more",
        true => "less",
        false => "noise",
    };
    let meaning = if row.is_significant { "" } else { ", within noise" };
    DifferenceBar {
        category: row.category.clone(),
        words: format!("{}: {words}{meaning}", row.category),
        zero: percent(axis.at(0.0)),
        x: percent(from),
        width: percent(to - from),
        interval: row
            .difference
            .map(|Interval { low, high, .. }| [percent(axis.at(low)), percent(axis.at(high))]),
        floor: row.floor_us.map(|floor| {
            let (from, to) = (axis.at(-floor), axis.at(floor));
            [percent(from), percent(to - from)]
        }),
        class,
        difference: Figure::new(value, crate::why::words::microseconds_more(value)),
        range: row.difference.map(Range::microseconds),
    }
}

fn line(row: &CategoryRow) -> CategoryLine {
    CategoryLine {
        category: row.category.clone(),
        baseline: Figure::microseconds(row.baseline_us),
        variant: Figure::microseconds(row.variant_us),
        difference: row.difference.map(Range::microseconds),
        floor: row.floor_us.map(Figure::microseconds),
        is_significant: row.is_significant,
    }
}

/// An axis of microseconds that has zero on it.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// From the least to the largest of the differences; intervals widen it to no more than twice the largest of them, so that one
    /// wide interval does not hide all others.
    fn over(rows: &[&CategoryRow]) -> Self {
        let values = || {
            rows.iter()
                .map(|row| difference_of(row))
                .filter(|value| value.is_finite())
        };
        let largest = values().map(f64::abs).fold(1e-3, f64::max);
        let most = 2.0 * largest;
        let bounds = rows.iter().filter_map(|row| row.difference);
        let bounds = bounds.flat_map(|interval| [interval.low.max(-most), interval.high.min(most)]);
        let all = values().chain(bounds.filter(|bound| bound.is_finite()));
        let (low, high) = all.fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        // Noise is seen on both sides of zero.
        let least = (high - low) * 0.08;
        Self {
            low: low.min(-least),
            high: high.max(least),
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        EDGE + (100.0 - 2.0 * EDGE) * share.clamp(0.0, 1.0)
    }

    /// Zero and a round number on the longer side.
    fn ticks(&self) -> Vec<Tick> {
        let longer = if self.high >= -self.low {
            self.high
        } else {
            self.low
        };
        let round = 10_f64.powf(longer.abs().log10().floor());
        let steps = [5.0, 2.0, 1.0].map(|step| step * round);
        let end = steps.into_iter().find(|step| *step <= longer.abs() * 0.999);
        let end = end.unwrap_or(longer.abs()).copysign(longer);
        [0.0, end]
            .into_iter()
            .map(|value| Tick {
                at: percent(self.at(value)),
                text: match value {
                    0.0 => "0".to_owned(),
                    value => format::difference(value, [value; 2], "us").value,
                },
            })
            .collect()
    }
}
