//! A change with its interval on an axis, and the axes of this and other charts.

use ciphertax_base::{Interval, format};
use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Run};
use serde::Serialize;

use super::figure::{Figure, Range, VerdictView};
use crate::describe;

/// An estimate on its axis.
#[derive(Serialize)]
pub(super) struct Mark {
    cell: String,
    metric: Metric,
    place: Place,
    change: Range,
    difference: Figure,
    verdict: VerdictView,
}

impl Mark {
    pub(super) fn of(run: &Run, row: &EstimateRow, scale: &ChangeScale) -> Self {
        let amount = format::difference(row.difference, &row.unit);
        let words = format!(
            "{}, {}, {}: {}, {} [{}, {}] of {}: {}",
            row.cell,
            row.arm,
            row.metric,
            format::change_with_interval(row.interval()),
            amount.value,
            amount.low,
            amount.high,
            format::quantity(row.baseline, &row.unit),
            describe::verdict_word(run, row)
        );
        Self {
            cell: row.cell.clone(),
            metric: row.metric,
            place: scale.place(
                row.interval(),
                row.floor,
                row.verdict.is_decided_difference(),
                words,
            ),
            change: Range::change(row.interval()),
            difference: Figure::new(row.difference.value, amount.value),
            verdict: VerdictView::of(run, row),
        }
    }
}

/// Where a change stands on an axis, with its interval and the band of those that do not count.
#[derive(Serialize)]
pub(super) struct Place {
    zero: String,
    x: String,
    low: String,
    high: String,
    band: [String; 2],
    /// Ends of the interval that are beyond the axis.
    cut_low: bool,
    cut_high: bool,
    /// True if the change counts.
    decided: bool,
    words: String,
}

/// A position in percent of the width or height of a plot, as SVG and CSS take it.
pub(super) fn percent(position: f64) -> String {
    format!("{:.2}%", position.clamp(0.0, 100.0))
}

/// A tick and its text.
#[derive(Serialize, Clone)]
pub(super) struct Tick {
    pub(super) at: String,
    pub(super) text: String,
}

/// An axis of changes: nearly linear within ±10 %, logarithmic beyond, so that a few percent of a query and several
/// hundred of a connect are both seen on it.
#[derive(Clone)]
pub(super) struct ChangeScale {
    low: f64,
    high: f64,
}

/// Up to here the axis is nearly linear, as a fraction.
const BEND: f64 = 0.1;
/// Room at both ends for marks, in percent of the width.
const EDGE: f64 = 4.0;
/// What two ticks must be apart at least, in percent of the width.
const APART: f64 = 27.0;
/// What a character of both their texts needs of it, where an axis is narrowest: on paper.
const CHARACTER: f64 = 3.6;
/// How far a text may stick out of the axis, in percent of the width.
const OVERHANG: f64 = 5.0;

impl ChangeScale {
    /// From the least to the largest of the values, with 0; intervals widen it to no more than three times the largest
    /// value, so that one wide interval does not hide all others.
    pub(super) fn over(rows: impl Iterator<Item = [f64; 3]>) -> Self {
        let rows: Vec<[f64; 3]> = rows.filter(|row| row.iter().all(|x| x.is_finite())).collect();
        let largest = rows.iter().map(|[value, ..]| value.abs()).fold(0.02, f64::max);
        let most = 3.0 * largest;
        let bounds = rows
            .iter()
            .flat_map(|[value, low, high]| [*value, low.max(-most), high.min(most)]);
        let (low, high) = bounds.fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        // The noise floor is seen on both sides of zero.
        Self {
            low: low.min(-0.02),
            high: high.max(0.02),
        }
    }

    fn bent(value: f64) -> f64 {
        value.signum() * (value.abs() / BEND).ln_1p()
    }

    /// Where a value stands in percent of the width; beyond the axis at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let (low, high) = (Self::bent(self.low), Self::bent(self.high));
        let share = (Self::bent(value) - low) / (high - low);
        EDGE + (100.0 - 2.0 * EDGE) * share.clamp(0.0, 1.0)
    }

    /// True if a value has no place on the axis.
    fn cuts(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }

    pub(super) fn place(&self, change: Interval, band: Option<f64>, decided: bool, words: String) -> Place {
        Place {
            zero: percent(self.at(0.0)),
            x: percent(self.at(change.value)),
            low: percent(self.at(change.low)),
            high: percent(self.at(change.high)),
            band: self.shade(band.unwrap_or(0.0)),
            cut_low: self.cuts(change.low),
            cut_high: self.cuts(change.high),
            decided,
            words,
        }
    }

    /// Where the shade of a noise floor, a factor less one, begins, and how wide it is: as far down as up, by ratio.
    pub(super) fn shade(&self, floor: f64) -> [String; 2] {
        let (from, to) = (self.at(1.0 / (1.0 + floor) - 1.0), self.at(floor));
        [percent(from), percent(to - from)]
    }

    /// True if the text of a tick does not stick out of the axis.
    fn is_inside(&self, value: f64) -> bool {
        let half = CHARACTER / 2.0 * text(value).chars().count() as f64;
        (half - OVERHANG..=100.0 + OVERHANG - half).contains(&self.at(value))
    }

    /// Zero, and as many round changes as have room, from the ends inwards.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let mut shown = vec![0.0];
        for sign in [1.0, -1.0] {
            let end = if sign > 0.0 { self.high } else { -self.low };
            for step in ROUND.iter().rev().filter(|step| **step <= end * 1.0001) {
                let value = sign * step;
                let has_room = shown
                    .iter()
                    .all(|other| (self.at(*other) - self.at(value)).abs() >= apart(*other, value));
                if has_room && self.is_inside(value) {
                    shown.push(value);
                }
            }
        }
        shown.sort_by(f64::total_cmp);
        shown
            .into_iter()
            .map(|value| Tick {
                at: percent(self.at(value)),
                text: text(value),
            })
            .collect()
    }
}

/// What a tick says.
fn text(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value => format::rounded::percent(value)
            .replace(".0", "")
            .replace(" %", ""),
    }
}

/// How far two ticks must be apart, so that their texts do not touch.
fn apart(one: f64, other: f64) -> f64 {
    let characters = text(one).chars().count() + text(other).chars().count();
    APART.max(CHARACTER * characters as f64)
}

/// Changes that a tick may have.
pub(super) const ROUND: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_percent_and_several_hundred_are_both_seen() {
        let scale = ChangeScale::over([[0.07, 0.06, 0.08], [6.0, 5.9, 6.1]].into_iter());
        let (zero, small, large) = (scale.at(0.0), scale.at(0.07), scale.at(6.0));
        assert!(
            small - zero > 8.0 && large - small > 50.0,
            "{zero} {small} {large}"
        );
        assert!((EDGE..=100.0 - EDGE).contains(&scale.at(1e9)));
    }

    #[test]
    fn one_wide_interval_does_not_hide_all_others() {
        let scale = ChangeScale::over([[0.07, 0.06, 0.08], [0.1, -1.0, 1e12]].into_iter());
        assert!(scale.cuts(1e12) && scale.cuts(-1.0) && !scale.cuts(0.1));
        assert!(scale.at(0.07) - scale.at(0.0) > 10.0);
    }

    #[test]
    fn ticks_have_room() {
        for high in [0.03, 0.2, 0.9, 7.0, 40.0] {
            let scale = ChangeScale::over([[high, -0.05, high]].into_iter());
            let ticks = scale.ticks();
            let positions: Vec<f64> = ticks
                .iter()
                .map(|tick| tick.at.trim_end_matches('%').parse().unwrap())
                .collect();
            assert!(ticks.len() >= 2, "{high}");
            assert!(
                positions.windows(2).all(|pair| pair[1] - pair[0] >= APART - 0.1),
                "{positions:?}"
            );
            assert!(ticks.iter().any(|tick| tick.text == "0"));
        }
    }

    #[test]
    fn no_tick_sticks_out_of_the_axis() {
        // A block of 101 times the baseline's throughput once had a tick at +10,000 that made the page wider than paper.
        for (high, last) in [
            (100.0, "+5,000"),
            (120.0, "+5,000"),
            (150.0, "+10,000"),
            (4.0, "+200"),
        ] {
            let ticks = ChangeScale::over([[high, -0.5, high]].into_iter()).ticks();
            assert_eq!(ticks.last().unwrap().text, last, "{high}");
        }
    }

    #[test]
    fn long_texts_have_more_room() {
        // A change of +1,900 % once had ticks at +200 and at +1,000, which touched on paper.
        let scale = ChangeScale::over([[19.0, -0.05, 19.4]].into_iter());
        let texts: Vec<String> = scale.ticks().into_iter().map(|tick| tick.text).collect();
        assert_eq!(texts, ["0", "+50", "+1,000"]);
    }
}
