//! Numbers and names as the template takes them, and estimates with their change and verdict.

use ciphertax_base::Direction;
use ciphertax_base::{Interval, format};
use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::Verdict;
use minijinja::{HtmlEscape, Value};
use serde::Serialize;

use crate::{describe, words};

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

    /// A difference without its interval.
    pub(super) fn difference(difference: Interval, unit: &str) -> Self {
        Self::new(difference.value, format::difference(difference, unit).value)
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

    pub(super) fn microseconds(difference: Interval) -> Self {
        Self::difference(difference, "us")
    }

    /// A difference in its unit.
    pub(super) fn difference(difference: Interval, unit: &str) -> Self {
        let text = format::difference(difference, unit);
        Self {
            value: Figure::new(difference.value, text.value),
            low: Figure::scaled(difference.low, text.unit, text.low),
            high: Figure::scaled(difference.high, text.unit, text.high),
        }
    }
}

/// Colours of variants.
const COLOURS: usize = 6;
/// Patterns of those colours, besides none.
const PATTERNS: usize = 3;

/// An arm's name and the classes that give it its colour and pattern.
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
        // Baseline and baseline again have the first two colours, variants take turns with the other six; the turn is a pattern.
        let (colour, turn) = match index {
            0 | 1 => (index, 0),
            _ => (2 + (index - 2) % COLOURS, (index - 2) / COLOURS),
        };
        let turn = match turn {
            0 => String::new(),
            turn => format!(" turn-{}", turn.min(PATTERNS)),
        };
        let short = if name.chars().count() <= 18 { " short" } else { "" };
        Self {
            name: name.into(),
            class: format!("arm-{colour}{turn}{short}"),
        }
    }
}

/// One estimate, with everything a test needs to find it and compare it with the record.
#[derive(Serialize)]
pub(super) struct ChangeView {
    cell: String,
    arm: String,
    metric: Metric,
    verdict: Verdict,
    verdict_view: VerdictView,
    wanted: Option<String>,
    blocks: u32,
    variant: Figure,
    change: Range,
    difference: Range,
}

impl ChangeView {
    pub(super) fn of(run: &Run, row: &EstimateRow) -> Self {
        Self {
            cell: row.cell.clone(),
            arm: row.arm.clone(),
            metric: row.metric,
            verdict: row.verdict,
            verdict_view: VerdictView::of(run, row),
            wanted: row
                .more_time_s
                .map(|seconds| format!("{} more to tell", format::span(seconds))),
            blocks: row.blocks,
            variant: Figure::quantity(row.variant, &row.unit),
            change: Range::change(row.interval()),
            difference: Range::difference(row.difference, &row.unit),
        }
    }
}

/// A verdict as a reader sees it.
#[derive(Serialize)]
pub(super) struct VerdictView {
    /// The class that gives it its colour.
    pub(super) tone: &'static str,
    pub(super) word: String,
    /// Why it is what it is.
    pub(super) rule: String,
}

impl VerdictView {
    pub(super) fn of(run: &Run, row: &EstimateRow) -> Self {
        Self {
            tone: tone(row),
            word: describe::verdict_word(run, row),
            rule: words::rule(row),
        }
    }
}

/// The class that gives a verdict its colour.
pub(super) fn tone(row: &EstimateRow) -> &'static str {
    match row.verdict {
        Verdict::Costs => "costs",
        Verdict::Gains => "gains",
        Verdict::NoCost => "no-cost",
        Verdict::CostsPerhaps | Verdict::GainsPerhaps | Verdict::CannotTell => "cannot-tell",
    }
}

/// What a number in a sentence is followed by.
const UNITS: [&str; 5] = ["%", "ns", "µs", "ms", "s"];

/// The text, escaped, with what must not be torn apart in spans.
pub(super) fn figures(text: &str) -> Value {
    let mut page = String::new();
    let mut words = text.split(' ').peekable();
    let mut begun = false;
    while let Some(word) = words.next() {
        page.push_str(if begun { " " } else { "" });
        begun = true;
        match words.next_if(|unit| is_figure(word, unit)) {
            Some(unit) => {
                let (word, unit) = (HtmlEscape(word), HtmlEscape(unit));
                page.push_str(&format!("<span class=\"figure\">{word} {unit}</span>"));
            }
            None => page.push_str(&HtmlEscape(word).to_string()),
        }
    }
    Value::from_safe_string(page)
}

fn is_figure(word: &str, unit: &str) -> bool {
    let unit = unit.trim_end_matches(|char: char| char.is_ascii_punctuation() && char != '%');
    word.ends_with(|char: char| char.is_ascii_digit()) && UNITS.contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit_and_all_text_is_escaped() {
        assert_eq!(
            figures("tls <costs> 186 µs more (+460 % [8.1, 52]).").to_string(),
            "tls &lt;costs&gt; <span class=\"figure\">186 µs</span> more <span class=\"figure\">(+460 %</span> [8.1, 52])."
        );
        assert_eq!(figures("in 2 cells,  so").to_string(), "in 2 cells,  so");
    }
}
