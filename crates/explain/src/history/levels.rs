//! How high a figure stands: between two changes, and on each version. Runs are the unit: what they scatter is in the intervals,
//! which a run's own interval does not know.

use ciphertax_records::{ChangePoint, HistoryPoint, VersionRow};
use ciphertax_stats::Interval;
use ciphertax_stats::change_points::{self, Change};
use ciphertax_stats::groups::Groups;

use super::conditions::{Conditions, differences};

/// The smallest shift that would be found nine times in ten, as a change of the ratio: with so many runs, of which the figure
/// scatters so between its changes. `None` where there are too few to find any.
pub(super) fn smallest_shift(runs: usize, groups: &Groups) -> Option<f64> {
    change_points::smallest_shift(runs, groups.standard_deviation()).map(f64::exp_m1)
}

/// The runs between the changes.
pub(super) fn between(points: &[HistoryPoint], found: &[Change]) -> Groups {
    let logs: Vec<f64> = points.iter().map(log_ratio).collect();
    Groups::of(pieces(&logs, found))
}

/// The values between the changes.
fn pieces<'a>(logs: &'a [f64], found: &[Change]) -> Vec<&'a [f64]> {
    let ends = found.iter().map(|change| change.at).chain([logs.len()]);
    let mut begin = 0;
    ends.map(|end| {
        let piece = &logs[begin..end];
        begin = end;
        piece
    })
    .collect()
}

/// The changes of a figure with what comes before and after each; `groups` are what lies [`between`] them, `conditions` those of its
/// points.
pub(super) fn changes(
    points: &[HistoryPoint],
    found: &[Change],
    groups: &Groups,
    conditions: &[Conditions],
) -> Vec<ChangePoint> {
    // Without an interval, which eight runs and one change always have, the value stands for it.
    let level = |piece: usize| as_change(groups.level(piece).unwrap_or_else(|| only(groups.mean(piece))));
    let point = |(piece, change): (usize, &Change)| {
        let shift = groups.difference(piece, piece + 1);
        ChangePoint {
            run: points[change.at].run,
            before_run: points[change.at - 1].run,
            before: level(piece),
            after: level(piece + 1),
            shift: as_change(shift.unwrap_or_else(|| only(groups.mean(piece + 1) - groups.mean(piece)))),
            p_value: change.p_value,
            differs: differences(&conditions[change.at - 1], &conditions[change.at]),
        }
    };
    found.iter().enumerate().map(point).collect()
}

/// What the runs on each version measured, in the order the versions first appear.
pub(super) fn versions(points: &[HistoryPoint]) -> Vec<VersionRow> {
    let mut by_version: Vec<(&str, Vec<f64>)> = Vec::new();
    for point in points {
        match by_version
            .iter_mut()
            .find(|(version, _)| *version == point.version)
        {
            Some((_, logs)) => logs.push(log_ratio(point)),
            None => by_version.push((&point.version, vec![log_ratio(point)])),
        }
    }
    let groups = Groups::of(by_version.iter().map(|(_, logs)| logs.as_slice()));
    let row = |(of, (version, logs)): (usize, &(&str, Vec<f64>))| VersionRow {
        version: (*version).to_owned(),
        runs: u32::try_from(logs.len()).unwrap_or(u32::MAX),
        change: groups.mean(of).exp_m1(),
        interval: groups.level(of).map(as_change),
    };
    by_version.iter().enumerate().map(row).collect()
}

/// A slowdown by a factor and a speed-up by the same factor are equally far from nothing.
pub(super) fn log_ratio(point: &HistoryPoint) -> f64 {
    point.change.value.ln_1p()
}

fn as_change(log: Interval) -> Interval {
    Interval {
        value: log.value.exp_m1(),
        low: log.low.exp_m1(),
        high: log.high.exp_m1(),
    }
}

fn only(value: f64) -> Interval {
    Interval {
        value,
        low: value,
        high: value,
    }
}
