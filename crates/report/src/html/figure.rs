//! Numbers and names as the template takes them.

use ciphertax_model::record::Run;
use serde::Serialize;

use crate::format;

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
    /// What the text counts in, where it does not say so itself: `percent` or nothing.
    scale: &'static str,
    text: String,
}

impl Figure {
    pub(super) fn new(value: f64, text: String) -> Self {
        Self {
            exact: exact(value),
            scale: "",
            text,
        }
    }

    pub(super) fn percent(value: f64, text: String) -> Self {
        Self {
            scale: "percent",
            ..Self::new(value, text)
        }
    }

    pub(super) fn quantity(value: f64, unit: &str) -> Self {
        Self::new(value, format::quantity(value, unit))
    }

    pub(super) fn microseconds(value: f64) -> Self {
        Self::new(value, format::microseconds(value))
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

/// An arm's name and the class that gives it its colour.
#[derive(Serialize)]
pub(super) struct ArmName {
    name: String,
    class: String,
}

impl ArmName {
    /// By the arm's position in the run; `report.js` gives out its eight colours in the same way.
    pub(super) fn at(index: usize, name: &str) -> Self {
        Self {
            name: name.into(),
            class: format!("arm-{}", index % 8),
        }
    }

    pub(super) fn of(run: &Run, name: &str) -> Self {
        let index = run
            .arms
            .iter()
            .position(|arm| arm.name == name)
            .unwrap_or_default();
        Self::at(index, name)
    }
}
