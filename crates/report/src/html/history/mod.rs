//! Many runs over time as one HTML file that opens offline, drawn like the report of one.

mod axes;
mod chart;

use std::collections::BTreeMap;

use ciphertax_records::{History, HistoryRun, NotInHistory};
use serde::Serialize;

use super::figure::Item;
use super::template::Template;
use crate::ReportError;
use crate::history::{self, left_out, to_the_minute};
use chart::HistoryChart;

/// The page of a history.
///
/// # Errors
/// Only if the template and the history do not fit each other, which is a defect of this crate.
pub fn render_history(history: &History) -> Result<String, ReportError> {
    TEMPLATE.render(HistoryPage::of(history), history)
}

const TEMPLATE: Template = Template {
    name: "history.html",
    source: include_str!("../../../assets/history.html"),
    style: concat!(
        include_str!("../../../assets/report.css"),
        include_str!("../../../assets/history.css")
    ),
    script: include_str!("../../../assets/svg.js"),
};

/// Everything the template needs.
#[derive(Serialize)]
struct HistoryPage {
    title: String,
    question: String,
    verdict: String,
    summary: Vec<Item>,
    method: String,
    /// What the letters of charts stand for; empty where there is but one version.
    letters: Vec<LetterView>,
    /// True if there are runs enough for a change to be found.
    enough: bool,
    changed: Vec<HistoryChart>,
    steady: Vec<HistoryChart>,
    left_out: Vec<NotInHistory>,
    /// The names of the conditions that are not the same in all runs.
    differing: Vec<String>,
    runs: Vec<RunView>,
    same: Vec<Item>,
}

/// A version and its letter.
#[derive(Serialize)]
struct LetterView {
    letter: String,
    class: String,
    version: String,
}

/// A row of the table of runs.
#[derive(Serialize)]
struct RunView {
    started: String,
    complete: bool,
    folder: String,
    /// In the order of `differing`; empty where the run has none.
    conditions: Vec<String>,
}

impl HistoryPage {
    fn of(history: &History) -> Self {
        let versions = history::versions(history);
        let (changed, steady): (Vec<_>, Vec<_>) = history
            .figures
            .iter()
            .partition(|figure| !figure.changes.is_empty());
        let charts = |figures: Vec<_>| {
            let drawn = figures
                .into_iter()
                .map(|figure| HistoryChart::of(history, figure, &versions));
            drawn.collect::<Vec<_>>()
        };
        let (differing, same) = conditions(&history.runs);
        Self {
            title: format!("{} over time — ciphertax", history.study),
            question: format!("Did the cost change from run to run of {}?", history.study),
            verdict: history.verdict.clone(),
            summary: summary(history),
            method: history::method(history),
            letters: letters(&versions),
            enough: history::is_long_enough(history),
            changed: charts(changed),
            steady: charts(steady),
            left_out: left_out(history),
            runs: history
                .runs
                .iter()
                .map(|run| RunView::of(run, &differing))
                .collect(),
            differing,
            same: same
                .into_iter()
                .map(|(name, value)| Item::new(name, value))
                .collect(),
        }
    }
}

impl RunView {
    fn of(run: &HistoryRun, differing: &[String]) -> Self {
        let value = |name: &String| run.conditions.get(name).cloned().unwrap_or_default();
        Self {
            started: to_the_minute(&run.started),
            complete: run.complete,
            folder: run.folder.clone(),
            conditions: differing.iter().map(value).collect(),
        }
    }
}

fn letters(versions: &[&str]) -> Vec<LetterView> {
    let view = |(number, version): (usize, &&str)| LetterView {
        letter: history::letter(number),
        class: chart::class(number),
        version: (*version).to_owned(),
    };
    match versions {
        [] | [_] => Vec::new(),
        several => several.iter().enumerate().map(view).collect(),
    }
}

fn summary(history: &History) -> Vec<Item> {
    let mut items = vec![
        Item::new("study", &history.study),
        Item::new("runs", history.runs.len().to_string()),
    ];
    if let Some(last) = history.runs.len().checked_sub(1) {
        items.push(Item::new("from", history.began(0)));
        items.push(Item::new("to", history.began(last)));
    }
    items
}

/// The names of the conditions in which runs differ, and those that all have in common.
fn conditions(runs: &[HistoryRun]) -> (Vec<String>, BTreeMap<String, String>) {
    let names = runs.iter().flat_map(|run| run.conditions.keys());
    let mut names: Vec<&String> = names.collect();
    names.sort();
    names.dedup();
    let Some(first) = runs.first() else {
        return Default::default();
    };
    let is_same = |name: &&&String| {
        runs.iter()
            .all(|run| run.conditions.get(**name) == first.conditions.get(**name))
    };
    let (same, differing): (Vec<&&String>, Vec<&&String>) = names.iter().partition(is_same);
    let value = |name: &&String| Some(((*name).clone(), first.conditions.get(*name)?.clone()));
    (
        differing.into_iter().map(|name| (**name).clone()).collect(),
        same.into_iter().filter_map(value).collect(),
    )
}
