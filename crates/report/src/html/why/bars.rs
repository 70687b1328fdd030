//! Bars: where a variant takes more CPU time than the baseline, category by category, and what the sessions of each arm did or
//! waited for.

use ciphertax_base::{Interval, format};
use ciphertax_records::Run;
use ciphertax_records::why::{CategoryRow, DifferenceOfSide, ProfiledSide, StateRow};
use serde::Serialize;

use super::super::figure::{ArmName, Figure, Range};
use super::super::forest::{Tick, percent};
use crate::why::{
    account_in_words, basis_in_words, difference_in_words, difference_of, is_again, side_word, state_in_words,
};

/// So many categories have a bar; the others are in the table alone.
const BARS: usize = 8;
/// Room at both ends of the axis, in percent of its width.
const EDGE: f64 = 3.0;

/// CPU time that a variant takes more than the baseline, category by category: one side of one variant in a cell.
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
        // A handful of samples tells nothing.
        rows.iter().find(|row| row.is_significant)?;
        let is_of_side = |row: &&DifferenceOfSide| row.cell == cell && row.arm == arm && row.side == side;
        let of_side = why.differences.iter().find(is_of_side);
        let shown = &rows[..rows.len().min(BARS)];
        let axis = Axis::over(shown);
        Some(Self {
            cell: cell.to_owned(),
            arm: ArmName::of(run, arm),
            arm_name: arm.to_owned(),
            side: side_word(side),
            bars: shown.iter().map(|row| difference_bar(row, &axis)).collect(),
            ticks: axis.ticks(),
            rows: rows.iter().map(|row| category_line(row)).collect(),
            account: of_side.map(account_in_words),
            basis: of_side.map(basis_in_words),
        })
    }
}

fn difference_bar(row: &CategoryRow, axis: &Axis) -> DifferenceBar {
    let value = difference_of(row);
    let (from, to) = (axis.at(value.min(0.0)), axis.at(value.max(0.0)));
    let words = match row.difference {
        Some(difference) => difference_in_words(difference),
        None => format!(
            "{}, too few blocks for an interval",
            crate::why::microseconds_more(value)
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
        difference: Figure::new(value, crate::why::microseconds_more(value)),
        range: row.difference.map(Range::microseconds),
    }
}

fn category_line(row: &CategoryRow) -> CategoryLine {
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
                    value => format::more(value, "us"),
                },
            })
            .collect()
    }
}

/// States that have a colour of their own, and the colour of all others together.
const COLOURS: usize = 7;
const OTHERS: &str = "others";

/// All arms of a cell: what their sessions did or waited for, as bars of the time of an operation.
#[derive(Serialize)]
pub(super) struct States {
    cell: String,
    /// What the picture is known by.
    chart: &'static str,
    /// By what the time is told apart, after "time of an operation".
    by: &'static str,
    /// What the rows are called.
    of: &'static str,
    legend: Vec<StateName>,
    bars: Vec<StateBar>,
    rows: Vec<StateLine>,
}

/// A state and its colour.
#[derive(Serialize)]
struct StateName {
    label: String,
    class: String,
}

/// An arm.
#[derive(Serialize)]
struct StateBar {
    arm: ArmName,
    total: String,
    width: String,
    words: String,
    pieces: Vec<StatePiece>,
}

/// A state of an arm.
#[derive(Serialize)]
struct StatePiece {
    class: String,
    width: String,
    text: String,
    words: String,
}

/// A state of an arm in numbers.
#[derive(Serialize)]
struct StateLine {
    arm: ArmName,
    arm_name: String,
    first_of_arm: bool,
    states_of_arm: usize,
    state: String,
    us: Figure,
    difference: Option<Range>,
}

impl States {
    /// `None` where no session was watched.
    pub(super) fn of(run: &Run, cell: &str) -> Option<Self> {
        let by = "by what its session did or waited for";
        Self::of_rows(run, cell, &run.results.why.states, ["states", by, "state"])
    }

    /// The same by the server's own wait events; `None` where it has none.
    pub(super) fn wait_events(run: &Run, cell: &str) -> Option<Self> {
        let by = "by what the server itself says that its session waited for";
        let words = ["wait-events", by, "wait event"];
        Self::of_rows(run, cell, &run.results.why.wait_events, words)
    }

    fn of_rows(run: &Run, cell: &str, rows: &[StateRow], [chart, by, of]: [&'static str; 3]) -> Option<Self> {
        let rows: Vec<&StateRow> = rows
            .iter()
            .filter(|row| row.cell == cell && !is_again(run, &row.arm))
            .collect();
        let mut arms: Vec<&str> = rows.iter().map(|row| row.arm.as_str()).collect();
        arms.dedup();
        let total = |arm: &str| of_arm(&rows, arm).iter().map(|row| row.us).sum::<f64>();
        let longest = arms.iter().map(|arm| total(arm)).fold(0.0, f64::max);
        if longest <= 0.0 {
            return None;
        }
        let named = named(&rows);
        let bar = |arm: &&str| {
            let by_state = by_state(&of_arm(&rows, arm), &named);
            let total = total(arm);
            let words: Vec<String> = by_state
                .iter()
                .map(|(state, us)| format!("{state} {}", format::microseconds(*us)))
                .collect();
            StateBar {
                arm: ArmName::of(run, arm),
                total: format::microseconds(total),
                width: percent(100.0 * total / longest),
                words: format!("{arm}: {}", words.join(", ")),
                pieces: by_state
                    .iter()
                    .filter(|(_, us)| *us > 0.0)
                    .map(|(state, us)| StatePiece {
                        class: class(state, &named),
                        width: percent(100.0 * us / total),
                        // A number of this many characters fits this share of the longest bar, also on a phone.
                        text: match us / longest > 0.22 {
                            true => format::microseconds(*us),
                            false => String::new(),
                        },
                        words: format!("{arm}, {state}: {}", format::microseconds(*us)),
                    })
                    .collect(),
            }
        };
        let has_others = rows.iter().any(|row| !named.contains(&row.state.as_str()));
        let legend = named.iter().copied().chain(has_others.then_some(OTHERS));
        Some(Self {
            cell: cell.to_owned(),
            chart,
            by,
            of,
            legend: legend
                .map(|state| StateName {
                    label: state.to_owned(),
                    class: class(state, &named),
                })
                .collect(),
            bars: arms.iter().map(bar).collect(),
            rows: arms
                .iter()
                .flat_map(|arm| lines(run, of_arm(&rows, arm)))
                .collect(),
        })
    }
}

/// The states that take most, in the order in which they stand in the record.
fn named<'a>(rows: &[&'a StateRow]) -> Vec<&'a str> {
    let mut all: Vec<(&str, f64)> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|(state, _)| *state == row.state) {
            Some((_, us)) => *us += row.us,
            None => all.push((&row.state, row.us)),
        }
    }
    let mut largest: Vec<f64> = all.iter().map(|(_, us)| *us).collect();
    largest.sort_by(|one, other| other.total_cmp(one));
    let least = largest.get(COLOURS - 1).copied().unwrap_or(0.0);
    let named = all.into_iter().filter(|(_, us)| *us >= least);
    named.map(|(state, _)| state).take(COLOURS).collect()
}

fn of_arm<'a>(rows: &[&'a StateRow], arm: &str) -> Vec<&'a StateRow> {
    rows.iter().copied().filter(|row| row.arm == arm).collect()
}

fn by_state<'a>(rows: &[&'a StateRow], named: &[&'a str]) -> Vec<(&'a str, f64)> {
    let mut sums: Vec<(&str, f64)> = named.iter().map(|state| (*state, 0.0)).collect();
    sums.push((OTHERS, 0.0));
    for row in rows {
        let at = named.iter().position(|state| *state == row.state);
        sums[at.unwrap_or(named.len())].1 += row.us;
    }
    sums
}

/// The colours of phases, which are told apart by everyone in this order; the last is grey.
fn class(state: &str, named: &[&str]) -> String {
    let at = named.iter().position(|name| *name == state);
    format!("phase-{}", at.unwrap_or(COLOURS))
}

fn lines(run: &Run, rows: Vec<&StateRow>) -> Vec<StateLine> {
    let states_of_arm = rows.len();
    let line = |(index, row): (usize, &StateRow)| StateLine {
        arm: ArmName::of(run, &row.arm),
        arm_name: row.arm.clone(),
        first_of_arm: index == 0,
        states_of_arm,
        state: state_in_words(row),
        us: Figure::microseconds(row.us),
        difference: row.difference.map(Range::microseconds),
    };
    rows.into_iter().enumerate().map(line).collect()
}
