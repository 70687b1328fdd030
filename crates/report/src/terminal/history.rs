//! Many runs over time as text.

use ciphertax_records::{History, HistoryFigure};
use ciphertax_stats::{Interval, format};

use super::grid::{Grid, figure, name};
use super::page::{Page, Style, Tone};
use crate::history::{
    self, change_in_words, differs_in_words, is_long_enough, left_out, letter, method, unchanged,
};
use crate::words::{p_value, short_metric};

/// Versions that a table has columns for.
const LATEST: usize = 3;
/// Differences that are shown of a change.
const DIFFERENCES: usize = 6;

/// The history, ending with a newline; `exported` are the files that it was written to.
pub fn history(history: &History, exported: &[String], style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(&history.verdict, Tone::Strong);
    page.blank();
    courses(&mut page, history);
    changes(&mut page, history);
    versions(&mut page, history);
    if !history.left_out.is_empty() {
        page.heading("Left out");
        for row in left_out(history) {
            page.item(&format!("{}: {}", row.folder, row.reason));
        }
    }
    page.blank();
    if is_long_enough(history) {
        page.paragraph(&method(history), Tone::Plain);
    }
    match exported {
        [] => page.line("Charts:  ciphertax history … --export history.html"),
        files => page.line(&format!("Written: {}", files.join(", "))),
    }
    page.text
}

/// One line a figure.
fn courses(page: &mut Page, history: &History) {
    if history.figures.is_empty() {
        return;
    }
    // Where nothing changed, the verdict says so of all.
    let says_when = history
        .figures
        .iter()
        .any(|figure| says(history, figure) != says(history, &history.figures[0]));
    let places = match page.width() {
        120.. => 28,
        100.. => 20,
        _ => 10,
    };
    let header = ["", "against the baseline", "course"].map(name).into_iter();
    let header = header.chain(["first", "latest"].map(figure));
    let mut grid = Grid::new(header.chain(says_when.then(|| figure("changed"))));
    for row in &history.figures {
        let first = row.points.first().map(|point| format::change(point.change.value));
        let latest = row
            .points
            .last()
            .map(|point| with_interval(point.change.value, Some(point.change)));
        let figures = [first, latest].map(|text| text.unwrap_or_else(|| format::ABSENT.into()));
        let figures = figures.into_iter().chain(says_when.then(|| says(history, row)));
        let names = [
            place(row),
            short_metric(row.metric).to_owned(),
            course(row, places),
        ];
        grid.add(
            names
                .map(|text| name(&text))
                .into_iter()
                .chain(figures.map(|text| figure(&text))),
        );
    }
    page.add_table(&grid.table(page));
}

/// The arm, and below it the cell.
fn place(figure: &HistoryFigure) -> String {
    format!("{}\n{}", figure.arm, figure.cell)
}

/// When a figure changed.
fn says(history: &History, figure: &HistoryFigure) -> String {
    let days = figure.changes.iter().map(|change| history.began(change.run));
    let days: Vec<String> = days.collect();
    match (days.as_slice(), figure.smallest_shift) {
        ([], None) => unchanged(figure),
        ([], Some(_)) => format::ABSENT.to_owned(),
        (days, _) => days.join("\n"),
    }
}

fn changes(page: &mut Page, history: &History) {
    let changed = || history.figures.iter().filter(|figure| !figure.changes.is_empty());
    if changed().next().is_none() {
        return;
    }
    page.heading("What changed");
    for figure in changed() {
        for change in &figure.changes {
            page.item(&format!(
                "{}, {}, {}: {} ({})",
                figure.arm,
                figure.cell,
                figure.metric,
                change_in_words(history, change),
                p_value(change.p_value)
            ));
            for differs in change.differs.iter().take(DIFFERENCES) {
                page.detail(&differs_in_words(differs));
            }
            match change.differs.len() {
                0 => page.detail("nothing that is recorded differs from the run before"),
                all if all > DIFFERENCES => page.detail(&format!("and {} more", all - DIFFERENCES)),
                _ => {}
            }
        }
    }
}

fn versions(page: &mut Page, history: &History) {
    let versions = history::versions(history);
    if versions.len() < 2 {
        return;
    }
    page.heading("Where each version stands");
    for (number, version) in versions.iter().enumerate() {
        page.item(&format!("{}: {version}", letter(number)));
    }
    // A terminal has room for the latest.
    let shown = versions.len().saturating_sub(LATEST)..versions.len();
    let names: Vec<String> = shown.clone().map(letter).collect();
    let header = ["", "against the baseline"].map(name).into_iter();
    let mut grid = Grid::new(header.chain(names.iter().map(|letter| figure(letter))));
    for row in &history.figures {
        let names = [name(&place(row)), name(short_metric(row.metric))];
        let figures = versions[shown.clone()].iter().map(|version| {
            let found = row.versions.iter().find(|row| row.version == **version);
            figure(&found.map_or_else(
                || format::ABSENT.into(),
                |row| with_interval(row.change, row.interval),
            ))
        });
        grid.add(names.into_iter().chain(figures));
    }
    page.add_table(&grid.table(page));
    if shown.start > 0 {
        page.item(&format!(
            "The latest {LATEST} versions; --export history.html has them all."
        ));
    }
}

fn with_interval(value: f64, interval: Option<Interval>) -> String {
    interval.map_or_else(|| format::change(value), format::change_with_interval)
}

/// A line of eighth blocks in so many places, from the least to the most; a bar is where it changed. Of many runs several share a
/// place.
fn course(figure: &HistoryFigure, places: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let values: Vec<f64> = figure.points.iter().map(|point| point.change.value).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // As on the charts, what differs by less than two points in a hundred is nearly level.
    let span = (most - least).max(0.02);
    let size = values.len().div_ceil(places).max(1);
    let mut text = String::new();
    for (place, chunk) in values.chunks(size).enumerate() {
        let runs = place * size..place * size + chunk.len();
        let begins = figure.changes.iter().any(|change| {
            let at = figure.points.iter().position(|point| point.run == change.run);
            at.is_some_and(|at| runs.contains(&at))
        });
        if begins {
            text.push('│');
        }
        let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
        let level = ((mean - least) / span * 7.0).round().clamp(0.0, 7.0);
        text.push(BLOCKS[level as usize]);
    }
    text
}
