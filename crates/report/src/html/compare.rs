//! A comparison of runs as one HTML file that opens offline and needs no script.

use ciphertax_base::format;
use ciphertax_records::{Comparison, CostChange, NotComparable};
use ciphertax_stats::{CostVerdict, Rule};
use serde::Serialize;

use super::Template;
use super::figure::{Figure, Range};
use super::forest::{ChangeScale, Place, Tick};
use crate::ReportError;
use crate::compare::{HOW, in_words, label, others, rule, value};

/// The page.
///
/// # Errors
/// Only if the template and the comparison do not fit each other, which is a defect of this crate.
pub fn compare(comparison: &Comparison) -> Result<String, ReportError> {
    TEMPLATE.render(Page::of(comparison), comparison)
}

/// The page for those who make text of it.
///
/// # Errors
/// As [`compare`].
pub(crate) fn compare_for_text(comparison: &Comparison) -> Result<String, ReportError> {
    TEMPLATE.bare().render(Page::of(comparison), &())
}

const TEMPLATE: Template = Template {
    name: "compare.html",
    source: include_str!("../../assets/compare.html"),
    style: concat!(
        include_str!("../../assets/report.css"),
        include_str!("../../assets/compare.css")
    ),
    script: "",
    is_packed: true,
};

#[derive(Serialize)]
struct Page {
    title: &'static str,
    verdict: String,
    how: &'static str,
    runs: Vec<RunView>,
    /// What differs, with how it is in each run.
    differences: Vec<(String, Vec<String>)>,
    refused: Vec<String>,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct RunView {
    label: String,
    name: String,
    started: String,
    cut_off: Option<String>,
}

/// One run against the first.
#[derive(Serialize)]
struct Part {
    title: String,
    from: String,
    to: String,
    ticks: Vec<Tick>,
    rows: Vec<RowView>,
    /// What a study is not precise about.
    more: Vec<RowView>,
}

#[derive(Serialize)]
struct RowView {
    arm: String,
    cell: String,
    metric: &'static str,
    before: Range,
    after: Range,
    /// Both in the unit of the metric.
    difference_before: Figure,
    difference_after: Figure,
    change: Range,
    tone: &'static str,
    word: String,
    rule: String,
    /// True if the cost is dearer or cheaper.
    is_change: bool,
    /// Why it cannot be told, where its interval does not say so.
    explained: Option<String>,
    place: Place,
}

impl Page {
    fn of(comparison: &Comparison) -> Self {
        let runs = comparison.runs.iter().enumerate();
        Self {
            title: "Did the cost change? — ciphertax",
            verdict: comparison.verdict.clone(),
            how: HOW,
            runs: runs
                .map(|(run, compared)| RunView {
                    label: label(run),
                    name: compared.name.clone(),
                    started: compared.started.clone(),
                    cut_off: compared.cut_off.clone(),
                })
                .collect(),
            differences: comparison
                .differences
                .iter()
                .map(|difference| {
                    let values = (0..comparison.runs.len()).map(|run| value(difference, run).to_owned());
                    (difference.what.clone(), values.collect())
                })
                .collect(),
            refused: comparison.not_comparable.iter().map(refused).collect(),
            parts: others(comparison).map(|run| Part::of(comparison, run)).collect(),
        }
    }
}

fn refused(refused: &NotComparable) -> String {
    format!("{}: {}: {}", label(refused.run), refused.what, refused.why)
}

impl Part {
    fn of(comparison: &Comparison, run: usize) -> Self {
        let changes = || comparison.changes.iter().filter(|change| change.run == run);
        let headlines = changes().filter(|change| change.headline);
        let bounds = headlines.map(|change| [change.change.value, change.change.low, change.change.high]);
        let scale = ChangeScale::over(bounds);
        let rows = |headline: bool| {
            changes()
                .filter(|change| change.headline == headline)
                .map(|change| RowView::of(change, &scale))
                .collect()
        };
        Self {
            title: format!("From {} to {}", label(0), label(run)),
            from: label(0),
            to: label(run),
            ticks: scale.ticks(),
            rows: rows(true),
            more: rows(false),
        }
    }
}

impl RowView {
    fn of(change: &CostChange, scale: &ChangeScale) -> Self {
        let difference = |difference| Figure::difference(difference, &change.unit);
        Self {
            arm: change.arm.clone(),
            cell: change.cell.clone(),
            metric: change.metric.label(),
            before: Range::change(change.before),
            after: Range::change(change.after),
            difference_before: difference(change.difference_before),
            difference_after: difference(change.difference_after),
            change: Range::change(change.change),
            tone: match change.verdict {
                CostVerdict::Dearer => "costs",
                CostVerdict::Cheaper => "gains",
                CostVerdict::Same => "no-cost",
                CostVerdict::CannotTell => "cannot-tell",
            },
            word: match change.verdict {
                CostVerdict::Same => format!("the same ±{}", format::share_of(change.margin)),
                verdict => verdict.to_string(),
            },
            rule: rule(change),
            is_change: matches!(change.verdict, CostVerdict::Dearer | CostVerdict::Cheaper),
            explained: (change.verdict == CostVerdict::CannotTell && change.rule != Rule::IntervalTooWide)
                .then(|| {
                    let place = format!("{} in {}, {}", change.arm, change.cell, change.metric);
                    format!("{place}: not decided, because {}.", rule(change))
                }),
            place: scale.place(
                change.change,
                Some(change.margin),
                matches!(change.verdict, CostVerdict::Dearer | CostVerdict::Cheaper),
                in_words(change),
            ),
        }
    }
}
