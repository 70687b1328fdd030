//! One estimate: its change, its verdict, and figures in sentences.

use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::{Rule, Verdict, format};
use minijinja::{HtmlEscape, Value};
use serde::Serialize;

use super::figure::{Figure, Range};
use crate::{describe, words};

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
            difference: Range::difference(row),
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
            word: match row.verdict {
                Verdict::NoCost if row.rule != Rule::ClientBound => {
                    format!("no cost above {}", words::bound(row.margin, row.metric))
                }
                _ => describe::verdict_word(run, row),
            },
            rule: words::rule(row),
        }
    }
}

/// The class that gives a verdict its colour.
pub(super) fn tone(row: &EstimateRow) -> &'static str {
    match row.verdict {
        _ if row.rule == Rule::ClientBound => "cannot-tell",
        Verdict::Costs => "costs",
        Verdict::Gains => "gains",
        Verdict::NoCost => "no-cost",
        Verdict::CannotTell => "cannot-tell",
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
