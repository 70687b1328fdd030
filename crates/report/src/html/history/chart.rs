//! One figure over time.

use ciphertax_model::Metric;
use ciphertax_records::{ChangePoint, History, HistoryFigure, HistoryPoint, VersionRow};
use ciphertax_stats::{Interval, format};
use serde::Serialize;

use super::axes::{HistoryAxes, RunTick};
use crate::history::{self, letter, unchanged};
use crate::html::figure::{Figure, Range};
use crate::html::scale::{Tick, percent};
use crate::words::p_value;

/// A chart, what changed, and which version stands where.
#[derive(Serialize)]
pub(super) struct HistoryChart {
    cell: String,
    arm: String,
    metric: Metric,
    label: &'static str,
    /// What the chart shows, in words.
    words: String,
    /// What is said where nothing changed.
    unchanged: Option<String>,
    zero: Option<String>,
    up: Vec<Tick>,
    across: Vec<RunTick>,
    stretches: Vec<Stretch>,
    levels: Vec<Level>,
    points: Vec<Point>,
    changes: Vec<ChangeView>,
    versions: Vec<VersionView>,
}

/// Runs one after the other on the same version.
#[derive(Serialize)]
struct Stretch {
    x: String,
    width: String,
    middle: String,
    shaded: bool,
    /// The version's, where there is room for it.
    letter: Option<String>,
}

/// What the runs between two changes have in common.
#[derive(Serialize)]
struct Level {
    x: String,
    end: String,
    width: String,
    y: String,
    top: String,
    height: String,
}

/// A run.
#[derive(Serialize)]
struct Point {
    class: String,
    x: String,
    y: String,
    low: String,
    high: String,
    /// True where the interval goes on beyond the chart.
    cut_low: bool,
    cut_high: bool,
    words: String,
}

/// From which run on the figure is another.
#[derive(Serialize)]
struct ChangeView {
    x: String,
    day: String,
    before: Range,
    after: Range,
    p_value: String,
    differs: Vec<String>,
    words: String,
}

/// What the runs on a version measured.
#[derive(Serialize)]
struct VersionView {
    letter: String,
    class: String,
    version: String,
    runs: u32,
    change: Figure,
    range: Option<Range>,
}

/// A letter needs so much of the width, in percent.
const ROOM: f64 = 3.5;

impl HistoryChart {
    pub(super) fn of(history: &History, figure: &HistoryFigure, versions: &[&str]) -> Self {
        let axes = HistoryAxes::over(history.runs.len(), &figure.points);
        let several = figure.versions.len() > 1;
        Self {
            cell: figure.cell.clone(),
            arm: figure.arm.clone(),
            metric: figure.metric,
            label: figure.metric.label(),
            words: words(history, figure),
            unchanged: figure.changes.is_empty().then(|| unchanged(figure)),
            zero: axes.has_zero().then(|| percent(axes.y(0.0))),
            up: axes.up(),
            across: axes.across(&history.runs),
            stretches: if several {
                stretches(figure, versions, &axes)
            } else {
                Vec::new()
            },
            levels: levels(figure, &axes),
            points: figure
                .points
                .iter()
                .map(|point| Point::of(history, versions, &axes, point))
                .collect(),
            changes: figure
                .changes
                .iter()
                .map(|change| ChangeView::of(history, &axes, change))
                .collect(),
            versions: if several {
                version_views(figure, versions)
            } else {
                Vec::new()
            },
        }
    }
}

/// `server CPU per operation of tls1.3 in oltp_point_select, 24 runs from 2026-01-02 to …: …`
fn words(history: &History, figure: &HistoryFigure) -> String {
    let ends = (figure.points.first(), figure.points.last());
    let of_point = |point: &HistoryPoint| {
        let run = history.began(point.run);
        format!("{} on {run}", format::change(point.change.value))
    };
    let course = match ends {
        (Some(first), Some(last)) => format!(
            "{} runs, {}, {}",
            figure.points.len(),
            of_point(first),
            of_point(last)
        ),
        _ => "no run".into(),
    };
    let changes = figure
        .changes
        .iter()
        .map(|change| history::change_in_words(history, change));
    let changes: Vec<String> = changes.collect();
    let changes = match changes.is_empty() {
        true => unchanged(figure),
        false => changes.join("; "),
    };
    format!(
        "{} of {} in {}: {course}; {changes}",
        figure.metric, figure.arm, figure.cell
    )
}

fn number_of(versions: &[&str], version: &str) -> usize {
    versions
        .iter()
        .position(|other| *other == version)
        .unwrap_or_default()
}

/// The colours of variants, which are told apart by everyone.
pub(super) fn class(version: usize) -> String {
    format!("arm-{}", 2 + version % 6)
}

fn stretches(figure: &HistoryFigure, versions: &[&str], axes: &HistoryAxes) -> Vec<Stretch> {
    let alike = |a: &HistoryPoint, b: &HistoryPoint| a.version == b.version;
    let groups: Vec<&[HistoryPoint]> = figure.points.chunk_by(alike).collect();
    let begins: Vec<f64> = groups
        .iter()
        .map(|group| axes.x(group[0].run as f64 - 0.5))
        .collect();
    let ends = begins.iter().copied().skip(1).chain([100.0]);
    let stretch = |(number, (group, end)): (usize, (&&[HistoryPoint], f64))| {
        let begin = if number == 0 { 0.0 } else { begins[number] };
        Stretch {
            x: percent(begin),
            width: percent(end - begin),
            middle: percent((begin + end) / 2.0),
            shaded: number % 2 == 1,
            letter: (end - begin >= ROOM).then(|| letter(number_of(versions, &group[0].version))),
        }
    };
    groups.iter().zip(ends).enumerate().map(stretch).collect()
}

fn levels(figure: &HistoryFigure, axes: &HistoryAxes) -> Vec<Level> {
    let (Some(first), Some(last)) = (figure.points.first(), figure.points.last()) else {
        return Vec::new();
    };
    let mut levels = Vec::new();
    let mut begin = first.run as f64 - 0.4;
    for change in &figure.changes {
        let end = change.run as f64 - 0.5;
        levels.push(Level::of(axes, begin, end, change.before));
        begin = end;
    }
    if let Some(change) = figure.changes.last() {
        levels.push(Level::of(axes, begin, last.run as f64 + 0.4, change.after));
    }
    levels
}

impl Level {
    fn of(axes: &HistoryAxes, begin: f64, end: f64, level: Interval) -> Self {
        let (from, to) = (axes.x(begin), axes.x(end));
        Self {
            x: percent(from),
            end: percent(to),
            width: percent(to - from),
            y: percent(axes.y(level.value)),
            top: percent(axes.y(level.high)),
            height: percent(axes.y(level.low) - axes.y(level.high)),
        }
    }
}

impl Point {
    fn of(history: &History, versions: &[&str], axes: &HistoryAxes, point: &HistoryPoint) -> Self {
        let Interval { value, low, high } = point.change;
        let run = history.began(point.run);
        Self {
            class: class(number_of(versions, &point.version)),
            x: percent(axes.x(point.run as f64)),
            y: percent(axes.y(value)),
            low: percent(axes.y(low)),
            high: percent(axes.y(high)),
            cut_low: axes.cuts(low),
            cut_high: axes.cuts(high),
            words: format!(
                "{run}: {} {}, {}",
                format::change(value),
                format::change_interval(value, low, high),
                point.version
            ),
        }
    }
}

impl ChangeView {
    fn of(history: &History, axes: &HistoryAxes, change: &ChangePoint) -> Self {
        Self {
            x: percent(axes.x(change.run as f64 - 0.5)),
            day: history.began(change.run),
            before: Range::change(change.before),
            after: Range::change(change.after),
            p_value: p_value(change.p_value),
            differs: change.differs.iter().map(history::differs_in_words).collect(),
            words: history::change_in_words(history, change),
        }
    }
}

fn version_views(figure: &HistoryFigure, versions: &[&str]) -> Vec<VersionView> {
    let view = |row: &VersionRow| {
        let number = number_of(versions, &row.version);
        VersionView {
            letter: letter(number),
            class: class(number),
            version: row.version.clone(),
            runs: row.runs,
            change: Figure::percent(row.change, format::change(row.change)),
            range: row.interval.map(Range::change),
        }
    };
    figure.versions.iter().map(view).collect()
}
