//! A comparison of runs, in words that its outputs share, and as Markdown.

mod markdown;

use ciphertax_model::Metric;
use ciphertax_records::{Comparison, CostChange, HeadDifference};
use ciphertax_stats::{CostVerdict, Rule, format};

use crate::words;

pub use markdown::markdown;

/// What a run is called in tables, by its place: A for the first.
pub(crate) fn label(run: usize) -> String {
    let letter = u8::try_from(run).ok().filter(|run| *run < 26);
    letter.map_or_else(
        || format!("run {}", run + 1),
        |run| char::from(b'A' + run).to_string(),
    )
}

/// The runs that are compared with the first, by their places.
pub(crate) fn others(comparison: &Comparison) -> impl Iterator<Item = usize> {
    1..comparison.runs.len()
}

/// What a study is precise about in a run, as rows of cell and arm, and the metrics that any of them has.
pub(crate) fn headlines(comparison: &Comparison, run: usize) -> (Vec<Metric>, Vec<Row<'_>>) {
    let (mut metrics, mut rows): (Vec<Metric>, Vec<Row<'_>>) = (Vec::new(), Vec::new());
    let changes = comparison.changes.iter();
    for change in changes.filter(|change| change.run == run && change.headline) {
        if !metrics.contains(&change.metric) {
            metrics.push(change.metric);
        }
        match rows
            .iter_mut()
            .find(|row| (row.cell, row.arm) == (change.cell.as_str(), change.arm.as_str()))
        {
            Some(row) => row.changes.push(change),
            None => rows.push(Row {
                cell: &change.cell,
                arm: &change.arm,
                changes: vec![change],
            }),
        }
    }
    // CPU of the server's side first, then of the client's.
    metrics.sort_by_key(|metric| match metric {
        metric if Metric::SERVER_CPU.contains(metric) => 0,
        Metric::ClientCpuPerOp => 1,
        _ => 2,
    });
    (metrics, rows)
}

/// The costs of an arm in a cell.
pub(crate) struct Row<'a> {
    pub(crate) cell: &'a str,
    pub(crate) arm: &'a str,
    changes: Vec<&'a CostChange>,
}

impl<'a> Row<'a> {
    pub(crate) fn of(&self, metric: Metric) -> Option<&'a CostChange> {
        self.changes
            .iter()
            .copied()
            .find(|change| change.metric == metric)
    }
}

/// Costs that changed and that no table of headlines shows.
pub(crate) fn other_changes(comparison: &Comparison, run: usize) -> Vec<&CostChange> {
    let changed = |change: &&CostChange| matches!(change.verdict, CostVerdict::Dearer | CostVerdict::Cheaper);
    let changes = comparison.changes.iter();
    changes
        .filter(|change| change.run == run && !change.headline)
        .filter(changed)
        .collect()
}

/// `tls1.3 in select, p95 latency: dearer, +5.5 % [4.9, 6.1] (+28.0 % → +35.1 %, +41 µs → +52 µs)`
pub(crate) fn in_words(change: &CostChange) -> String {
    format!(
        "{} in {}, {}: {}, {} ({})",
        change.arm,
        change.cell,
        change.metric,
        change.verdict,
        ratio(change),
        change.course_in_words()
    )
}

/// `+5.5 % [4.9, 6.1]`
pub(crate) fn ratio(change: &CostChange) -> String {
    format::change_with_interval(change.change)
}

/// Why the verdict is what it is.
pub(crate) fn rule(change: &CostChange) -> String {
    let floor = change.floor.map_or(format::ABSENT.into(), |floor| {
        format!("±{}", format::share_of(floor))
    });
    let margin = format!("±{}", format::share_of(change.margin));
    match change.rule {
        Rule::BeyondFloor => format!(
            "the interval excludes 0, the change exceeds what the baselines alone differ by ({floor}), and it is \
             significant among all that is compared (Holm, {})",
            words::p_value(change.adjusted_p_value)
        ),
        Rule::WithinMargin => format!("the whole interval lies within the margin of {margin}"),
        Rule::IntervalTooWide => {
            format!("the interval includes 0 and also changes beyond the margin of {margin}; measure longer")
        }
        Rule::WithinFloor => format!("the baselines alone differ by as much ({floor})"),
        Rule::ManyComparisons => format!(
            "among so many comparisons a change like it may well be chance (Holm, {})",
            words::p_value(change.adjusted_p_value)
        ),
        Rule::FloorTooWide => {
            format!("the baselines alone differ by more ({floor}) than the margin of {margin}")
        }
        Rule::NoFloor => "the baseline against itself was not measured in both runs".into(),
        Rule::ClientBound => "the load generator was the bottleneck, so the figure is the client's".into(),
    }
}

/// What the figures are, and when which word stands.
pub(crate) const HOW: &str = "Each figure is a ratio of ratios: how much more an arm takes in a run than in A, each against the \
     baseline of its own run, so what makes a whole run faster or slower cancels. In brackets the 95 % interval, of both runs' errors. \
     Dearer, cheaper: it excludes 0, the change exceeds what the repeated baselines of the runs differ by, and it is significant among \
     all that is compared (Holm). They say so of the relative cost: where the baseline became slower too, the arm may be cheaper and \
     yet take more time than before. The same: the whole interval lies within the margin, which needs more than that \
     no change was found. What differs whenever a server is started anew is in no interval: a third run, of the first version again, \
     shows it.";

/// How something is in a run.
pub(crate) fn value(difference: &HeadDifference, run: usize) -> &str {
    let value = difference.values.get(run).and_then(Option::as_deref);
    value.unwrap_or(format::ABSENT)
}
