//! The axes of a history: runs across, one after the other; changes up.

use ciphertax_records::{HistoryPoint, HistoryRun};
use ciphertax_stats::format;
use serde::Serialize;

use crate::html::scale::{Tick, percent};

/// Where runs and changes stand on a chart.
pub(super) struct HistoryAxes {
    runs: usize,
    low: f64,
    high: f64,
}

/// A tick of the runs; the first and the last stay inside the chart.
#[derive(Serialize)]
pub(super) struct RunTick {
    pub(super) at: String,
    pub(super) text: String,
    pub(super) class: &'static str,
}

/// Room at both ends of the runs, in percent of the width.
const EDGE: f64 = 3.0;

/// A chart shows at least so much, as a fraction, or tiny changes would look large.
const LEAST_SPAN: f64 = 0.02;

/// How far beyond the points a chart goes for the sake of intervals, in spans of the points: one that is wider is cut off, or
/// nothing would be seen of the others.
const WIDEST: f64 = 4.0;

impl HistoryAxes {
    /// Over so many runs, and from the least to the largest of the points with their intervals, which widen it by no more than
    /// [`WIDEST`] times that either way.
    pub(super) fn over(runs: usize, points: &[HistoryPoint]) -> Self {
        let values = || points.iter().map(|point| point.change.value);
        let least = values().reduce(f64::min).unwrap_or(0.0);
        let most = values().reduce(f64::max).unwrap_or(0.0);
        let span = (most - least).max(LEAST_SPAN);
        let low = points
            .iter()
            .map(|point| point.change.low.max(least - WIDEST * span))
            .fold(least, f64::min);
        let high = points
            .iter()
            .map(|point| point.change.high.min(most + WIDEST * span))
            .fold(most, f64::max);
        let room = 0.1 * (high - low).max(LEAST_SPAN);
        Self {
            runs,
            low: low - room,
            // Below the points is room for the letters of versions.
            high: high + room,
        }
    }

    /// In percent of the width; between two runs is where the later begins.
    pub(super) fn x(&self, run: f64) -> f64 {
        let last = self.runs.saturating_sub(1).max(1) as f64;
        match self.runs {
            ..=1 => 50.0,
            _ => EDGE + (100.0 - 2.0 * EDGE) * (run / last).clamp(-EDGE / 100.0, 1.0 + EDGE / 100.0),
        }
    }

    /// In percent of the height, from the top.
    pub(super) fn y(&self, change: f64) -> f64 {
        100.0 * ((self.high - change) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// True if a change has no place on the chart.
    pub(super) fn cuts(&self, change: f64) -> bool {
        change < self.low || change > self.high
    }

    /// True if no change is on the chart.
    pub(super) fn has_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// Round changes, three to seven of them.
    pub(super) fn up(&self) -> Vec<Tick> {
        let span = self.high - self.low;
        let power = 10_f64.powf((span / 5.0).log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| span / step <= 6.5).unwrap_or(span);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let tick = |number: i64| {
            let value = number as f64 * step;
            Tick {
                at: percent(self.y(value)),
                text: if number == 0 {
                    "0".into()
                } else {
                    format::change(value).replace(".0 ", " ")
                },
            }
        };
        (first..=last.min(first.saturating_add(6))).map(tick).collect()
    }

    /// The days of the first, the middle and the last run; the time of the day where two of them share one.
    pub(super) fn across(&self, runs: &[HistoryRun]) -> Vec<RunTick> {
        let last = self.runs.saturating_sub(1);
        let mut shown = vec![0, last / 2, last];
        shown.dedup();
        let day = |run: &usize| runs.get(*run).map(HistoryRun::day);
        let text = |run: usize| {
            let on_that_day = shown.iter().filter(|other| day(other) == day(&run));
            let is_shared = on_that_day.count() > 1;
            runs.get(run)
                .map_or("", |run| if is_shared { run.time() } else { run.day() })
        };
        let tick = |run: &usize| RunTick {
            at: percent(self.x(*run as f64)),
            text: text(*run).to_owned(),
            class: match *run {
                _ if last == 0 => "",
                0 => "first",
                run if run == last => "last",
                _ => "",
            },
        };
        shown.iter().map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ciphertax_stats::{Interval, Verdict};

    use super::*;

    fn axes(values: &[f64]) -> HistoryAxes {
        let point = |(run, value): (usize, &f64)| HistoryPoint {
            run,
            version: String::new(),
            change: Interval {
                value: *value,
                low: value - 0.01,
                high: value + 1e9,
            },
            baseline: 1.0,
            variant: 1.0,
            blocks: 20,
            verdict: Verdict::Costs,
        };
        let points: Vec<HistoryPoint> = values.iter().enumerate().map(point).collect();
        HistoryAxes::over(values.len(), &points)
    }

    #[test]
    fn every_chart_has_a_few_round_ticks_however_little_or_much_changes() {
        for values in [
            &[0.28][..],
            &[0.28, 0.29],
            &[-0.02, 0.03],
            &[3.0, 12.0],
            &[0.0; 9],
            &[0.1, 250.0],
        ] {
            let ticks = axes(values).up();
            assert!((3..=7).contains(&ticks.len()), "{values:?}: {}", ticks.len());
            let mut texts: Vec<&String> = ticks.iter().map(|tick| &tick.text).collect();
            texts.dedup();
            assert_eq!(texts.len(), ticks.len(), "{texts:?}");
        }
    }

    #[test]
    fn changes_that_no_integer_holds_have_ticks_all_the_same() {
        for values in [&[1e300, 1e300][..], &[1e19, 1e19], &[f64::MAX, 0.0]] {
            assert!(axes(values).up().len() <= 7, "{values:?}");
        }
    }

    #[test]
    fn an_interval_is_on_the_chart_or_said_to_be_cut_off() {
        let axes = axes(&[0.1, 0.2, 0.3]);
        assert!(!axes.cuts(0.1 - 0.01) && axes.cuts(0.1 + 1e9));
        assert!(!axes.cuts(0.3 + 0.7) && axes.y(0.3 + 0.7) > 0.0);
    }

    #[test]
    fn runs_of_one_day_are_told_apart_by_their_times() {
        let run = |started: &str| HistoryRun {
            folder: String::new(),
            started: started.into(),
            complete: true,
            conditions: BTreeMap::new(),
        };
        let texts = |started: &[&str]| -> Vec<String> {
            let runs: Vec<HistoryRun> = started.iter().map(|started| run(started)).collect();
            let ticks = axes(&vec![0.1; runs.len()]).across(&runs);
            ticks.into_iter().map(|tick| tick.text).collect()
        };
        let (early, late) = ("2026-11-23T09:10:11Z", "2026-11-23T17:20:00Z");
        assert_eq!(texts(&[early, late]), ["09:10", "17:20"]);
        assert_eq!(
            texts(&["2026-11-22T09:10:11Z", early]),
            ["2026-11-22", "2026-11-23"]
        );
    }

    #[test]
    fn points_are_inside_and_in_order() {
        let axes = axes(&[0.1, 0.2, 0.3]);
        assert!(axes.x(0.0) > 0.0 && axes.x(1.0) == 50.0 && axes.x(2.0) < 100.0);
        assert!(axes.y(0.3) > 0.0 && axes.y(0.1) < 100.0 && axes.y(0.3) < axes.y(0.1));
    }
}
