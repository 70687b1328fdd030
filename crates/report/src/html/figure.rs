//! Numbers and names as the template takes them.

use ciphertax_model::{Direction, Metric};
use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::{Interval, format};
use serde::Serialize;

use crate::words;

/// A label and its text.
#[derive(Serialize)]
pub(super) struct Item {
    label: String,
    text: String,
}

impl Item {
    pub(super) fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            text: text.into(),
        }
    }
}

/// A number: exactly as the record holds it, and as a reader wants it.
#[derive(Serialize)]
pub(super) struct Figure {
    exact: String,
    /// What the text counts in, where it does not say so itself: `percent`, a unit or nothing.
    scale: &'static str,
    text: String,
}

impl Figure {
    pub(super) fn new(value: f64, text: String) -> Self {
        Self::scaled(value, "", text)
    }

    pub(super) fn percent(value: f64, text: String) -> Self {
        Self::scaled(value, "percent", text)
    }

    fn scaled(value: f64, scale: &'static str, text: String) -> Self {
        Self {
            exact: exact(value),
            scale,
            text,
        }
    }

    pub(super) fn quantity(value: f64, unit: &str) -> Self {
        Self::new(value, format::quantity(value, unit))
    }

    pub(super) fn microseconds(value: f64) -> Self {
        Self::new(value, format::microseconds(value))
    }

    /// What does not count, on the side of cost.
    pub(super) fn floor(floor: f64, metric: Metric) -> Self {
        let shown = match metric.direction() {
            Direction::HigherCosts => floor,
            Direction::LowerCosts => -floor / (1.0 + floor),
        };
        Self::percent(shown, words::floor(floor, metric))
    }
}

/// The shortest text that gives the same number back, as JSON writes it.
fn exact(value: f64) -> String {
    serde_json::to_string(&value).expect("a number is JSON")
}

/// A number with its interval.
#[derive(Serialize)]
pub(super) struct Range {
    pub(super) value: Figure,
    pub(super) low: Figure,
    pub(super) high: Figure,
}

impl Range {
    /// A change, in percent.
    pub(super) fn change(Interval { value, low, high }: Interval) -> Self {
        let bound = |bound| Figure::percent(bound, format::change_bound(bound, value));
        Self {
            value: Figure::percent(value, format::change(value)),
            low: bound(low),
            high: bound(high),
        }
    }

    /// A difference in microseconds.
    pub(super) fn microseconds(Interval { value, low, high }: Interval) -> Self {
        let text = format::difference(value, [low, high], "us");
        Self {
            value: Figure::new(value, text.value),
            low: Figure::scaled(low, text.unit, text.low),
            high: Figure::scaled(high, text.unit, text.high),
        }
    }

    /// The difference of an estimate in its unit.
    pub(super) fn difference(row: &EstimateRow) -> Self {
        let difference = row.difference;
        let text = format::difference(difference.value, [difference.low, difference.high], &row.unit);
        Self {
            value: Figure::new(difference.value, text.value),
            low: Figure::scaled(difference.low, text.unit, text.low),
            high: Figure::scaled(difference.high, text.unit, text.high),
        }
    }
}

/// An arm's name and the class that gives it its colour.
#[derive(Serialize)]
pub(super) struct ArmName {
    name: String,
    class: String,
}

impl ArmName {
    pub(super) fn of(run: &Run, name: &str) -> Self {
        let index = run
            .head
            .arms
            .iter()
            .position(|arm| arm.name == name)
            .unwrap_or_default();
        // Baseline and baseline again have the first two colours, variants take turns with the other six.
        let colour = if index < 2 { index } else { 2 + (index - 2) % 6 };
        Self {
            name: name.into(),
            class: match name.chars().count() {
                ..=18 => format!("arm-{colour} short"),
                _ => format!("arm-{colour}"),
            },
        }
    }
}
