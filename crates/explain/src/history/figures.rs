//! Every figure over all runs.

use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, HistoryFigure, HistoryPoint, MeasuredCell, NotInHistory, Run};
use ciphertax_stats::Rule;
use ciphertax_stats::change_points::{Series, change_points};
use serde_json::Value;

use super::conditions::{self, Conditions};
use super::levels::{between, changes, log_ratio, smallest_shift, versions};
use super::{GivenRun, leave_out};
use crate::asked;
use crate::compare::headlines;
use crate::facts::counted;
use crate::keys::differing_keys;

/// The figures of runs in the order they began: those that changed first, the largest changes on top.
pub(super) fn figures(given: &[GivenRun], left_out: &mut Vec<NotInHistory>) -> Vec<HistoryFigure> {
    let keys = keys(given);
    given.iter().for_each(|given| name_unfit(given, left_out));
    let collected: Vec<Collected> = keys
        .iter()
        .map(|key| Collected::of(key, given, left_out))
        .collect();
    let series: Vec<Series> = collected.iter().map(Collected::series).collect();
    let found = change_points(&series);
    let mut figures: Vec<HistoryFigure> = collected
        .into_iter()
        .zip(&keys)
        .zip(found)
        .map(|((collected, key), found)| {
            let groups = between(&collected.points, &found);
            HistoryFigure {
                cell: key.cell.clone(),
                arm: key.arm.clone(),
                metric: key.metric,
                unit: key.metric.unit().to_owned(),
                changes: changes(&collected.points, &found, &groups, &collected.conditions),
                smallest_shift: smallest_shift(collected.points.len(), &groups),
                versions: versions(&collected.points),
                points: collected.points,
            }
        })
        .collect();
    // The sort is stable: what has not changed stays in the order of the study.
    figures.sort_by(|a, b| largest_shift(b).total_cmp(&largest_shift(a)));
    figures
}

fn largest_shift(figure: &HistoryFigure) -> f64 {
    let shifts = figure
        .changes
        .iter()
        .map(|change| change.shift.value.ln_1p().abs());
    shifts.fold(0.0, f64::max)
}

/// What a figure is of.
#[derive(PartialEq)]
struct Key {
    cell: String,
    arm: String,
    metric: Metric,
}

/// Those that any run has, in the order of the latest that has them.
fn keys(given: &[GivenRun]) -> Vec<Key> {
    let mut keys = Vec::new();
    for given in given.iter().rev() {
        let run = &given.run;
        for cell in run.cells() {
            for arm in run.head.variants() {
                for metric in headlines(run, cell) {
                    let key = Key {
                        cell: cell.found.name.clone(),
                        arm: arm.name.clone(),
                        metric,
                    };
                    if estimate(run, &key).is_some() && !keys.contains(&key) {
                        keys.push(key);
                    }
                }
            }
        }
    }
    keys
}

/// What a run found, unless it is the client's figure or no number.
fn estimate<'a>(run: &'a Run, key: &Key) -> Option<&'a EstimateRow> {
    let row = run.results.estimate(&key.cell, &key.arm, key.metric)?;
    unfit(row).is_none().then_some(row)
}

/// Changes beyond this factor, less one, are no cost of anything, and no axis holds them beside others.
const LARGEST_CHANGE: f64 = 1e6;

/// Why a figure is no point of a series.
fn unfit(row: &EstimateRow) -> Option<&'static str> {
    let numbers = [row.change, row.low, row.high, row.baseline, row.variant];
    if row.rule == Rule::ClientBound {
        return Some("the load generator was the bottleneck, which makes it the client's");
    }
    if numbers.iter().any(|number| !number.is_finite()) || row.change <= -1.0 {
        return Some("what was measured is no number that can be compared");
    }
    let is_beyond = numbers[..3].iter().any(|change| change.abs() > LARGEST_CHANGE);
    is_beyond.then_some("the change is more than a millionfold, which is no cost")
}

/// Says of a run which of its figures are no points, by why.
fn name_unfit(given: &GivenRun, left_out: &mut Vec<NotInHistory>) {
    let run = &given.run;
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in run.cells() {
        for (arm, metric) in run
            .head
            .variants()
            .flat_map(|arm| headlines(run, cell).map(|metric| (arm, metric)))
        {
            let row = run.results.estimate(&cell.found.name, &arm.name, metric);
            let Some(why) = row.and_then(unfit) else {
                continue;
            };
            let name = format!("{metric} of {} in {}", arm.name, cell.found.name);
            match by_reason.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, names)) => names.push(name),
                None => by_reason.push((why, vec![name])),
            }
        }
    }
    for (why, names) in by_reason {
        leave_out(left_out, &given.folder, format!("{}: {why}", names.join("; ")));
    }
}

/// The points of a figure, each with the conditions it was measured under.
struct Collected {
    points: Vec<HistoryPoint>,
    conditions: Vec<Conditions>,
}

impl Collected {
    /// Of runs that ask the same as the latest that has the figure; of others it is said that they ask something else.
    fn of(key: &Key, given: &[GivenRun], left_out: &mut Vec<NotInHistory>) -> Self {
        let mut collected = Self {
            points: Vec::new(),
            conditions: Vec::new(),
        };
        let mut latest: Option<Value> = None;
        for (run, given) in given.iter().enumerate().rev() {
            let Some((row, cell)) = estimate(&given.run, key).zip(given.run.cell(&key.cell)) else {
                continue;
            };
            let Some(asked) = asked(&given.run, cell, key) else {
                continue;
            };
            let differs = latest
                .as_ref()
                .map_or_else(Vec::new, |latest| differing_keys(latest, &asked));
            if !differs.is_empty() {
                let in_words =
                    |[key, later, here]: [String; 3]| format!("{key} is {here} there and {later} later");
                let what: Vec<String> = differs.into_iter().map(in_words).collect();
                let reason = format!(
                    "{}, {}: not the question of later runs: {}",
                    key.cell,
                    key.arm,
                    what.join("; ")
                );
                leave_out(left_out, &given.folder, reason);
                continue;
            }
            latest.get_or_insert(asked);
            collected.points.push(point(run, &given.run, cell, row));
            collected
                .conditions
                .push(conditions::of_arm(&given.run, cell, &key.arm));
        }
        collected.points.reverse();
        collected.conditions.reverse();
        collected
    }

    fn series(&self) -> Series {
        let values = self.points.iter().map(|point| (point.run, log_ratio(point)));
        Series {
            values: values.collect(),
        }
    }
}

/// The question that a figure answers: what is asked of the arm, and for the server's CPU whose CPU time that is.
fn asked(run: &Run, cell: MeasuredCell<'_>, key: &Key) -> Option<Value> {
    let mut asked = asked::of_arm_in(&run.head.study, cell.asked, &key.arm)?;
    if Metric::SERVER_CPU.contains(&key.metric) {
        asked["server's CPU is that of"] = run.server_of(cell.found).and_then(counted).into();
    }
    Some(asked)
}

fn point(number: usize, run: &Run, cell: MeasuredCell<'_>, row: &EstimateRow) -> HistoryPoint {
    HistoryPoint {
        run: number,
        version: version(run, cell),
        change: row.interval(),
        baseline: row.baseline,
        variant: row.variant,
        blocks: row.blocks,
        verdict: row.verdict,
    }
}

/// `MariaDB 10.11.14, OpenSSL 3.0.17 1 Jul 2025`
fn version(run: &Run, cell: MeasuredCell<'_>) -> String {
    let Some(server) = run.server_of(cell.found) else {
        return "unknown".into();
    };
    match server.tls_library.as_str() {
        "" => format!("{} {}", server.product, server.version),
        library => format!("{} {}, {library}", server.product, server.version),
    }
}
