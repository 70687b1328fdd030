//! Many runs over time: the page in headless Chromium, the text, the document.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod fixture;

use ciphertax_records::{History, NotInHistory};
use ciphertax_report::terminal::{self, Style};
use ciphertax_report::{html, json};
use ciphertax_report_check::{HistoryChart, check_history};

const NARROW: Style = Style {
    width: 100,
    colour: false,
};

/// With `KEEP_HISTORY=history.html` the page stays there, to be looked at or to take pictures of.
#[test]
fn every_figure_has_a_chart_with_all_its_runs_and_changes() {
    let history = fixture::history::with_changes();
    let page = html::render_history(&history).unwrap();
    if let Some(kept) = std::env::var_os("KEEP_HISTORY") {
        std::fs::write(kept, &page).unwrap();
    }
    check(&page, &history).unwrap();
}

#[test]
fn a_history_without_a_change_says_so() {
    let history = fixture::history::steady();
    assert!(history.figures.iter().all(|figure| figure.changes.is_empty()));
    let page = html::render_history(&history).unwrap();
    assert!(page.contains("Every figure") && !page.contains("What changed</h2>"));
    check(&page, &history).unwrap();
}

#[test]
fn a_single_run_and_none_that_has_figures_are_pages_too() {
    let mut history = fixture::history::steady();
    history.runs.truncate(1);
    for figure in &mut history.figures {
        figure.points.truncate(1);
    }
    check(&html::render_history(&history).unwrap(), &history).unwrap();
    history.figures.clear();
    check(&html::render_history(&history).unwrap(), &history).unwrap();
    assert!(terminal::history(&history, &[], NARROW).contains(&history.verdict[..20]));
}

#[test]
fn hostile_text_is_shown_as_text() {
    let hostile = "</script><script>console.warn('owned')</script><img src=http://127.0.0.1:9/x>\u{1b}[31m";
    let mut history = fixture::history::with_changes();
    history.verdict = hostile.into();
    history.runs[3].folder = hostile.into();
    let changed = history.figures[0].changes[0].run;
    history.runs[changed].started = hostile.into();
    history.left_out.push(NotInHistory {
        folder: hostile.into(),
        reason: hostile.into(),
    });
    history.figures[0].arm = hostile.into();
    history.figures[0].versions[0].version = hostile.into();
    check(&html::render_history(&history).unwrap(), &history).unwrap();
    let text = terminal::history(&history, &[], NARROW);
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn the_text_has_courses_changes_and_versions() {
    insta::assert_snapshot!(terminal::history(&fixture::history::with_changes(), &[], NARROW));
}

#[test]
fn the_document_is_read_back_as_it_was_written() {
    let history = fixture::history::with_changes();
    assert_eq!(
        serde_json::from_str::<History>(&json::render(&history)).unwrap(),
        history
    );
}

fn check(page: &str, history: &History) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("history.html");
    std::fs::write(&path, page).map_err(|error| error.to_string())?;
    let charts = history.figures.iter().map(|figure| HistoryChart {
        name: format!("{} {} {}", figure.cell, metric_name(figure.metric), figure.arm),
        points: figure.points.len(),
        changes: figure.changes.len(),
    });
    check_history(&path, &history.verdict, &charts.collect::<Vec<_>>())
}

fn metric_name(metric: ciphertax_model::Metric) -> String {
    serde_json::to_value(metric).unwrap().as_str().unwrap().to_owned()
}
