//! Did the cost change from one run to another?
//!
//! What is compared is a ratio of ratios: how much an arm takes against the baseline of its own run, in the one and in the other.
//! What makes a whole run slower or faster, another machine among it, is in both arms of its blocks and cancels.

mod comparable;
mod differences;
mod sentence;

use ciphertax_base::Interval;
use ciphertax_model::Metric;
use ciphertax_records::{
    COMPARISON_SCHEMA, ComparedRun, Comparison, CostChange, EstimateRow, MeasuredCell, NotComparable,
    Results, Run, RunStatus,
};
use ciphertax_stats::bound::Sameness;
use ciphertax_stats::verdict::holm;
use ciphertax_stats::{CostVerdict, DRIFT_BETWEEN_RUNS, LogRatio, Rule};

use crate::facts::counted;
use ciphertax_estimate::estimates::margin;
use comparable::Comparable;

pub(crate) use differences::differences;

/// A run, and what it is called.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// Compares all runs with the first of them. What differs by less than `margin`, a factor less one, is the same; without it, by
/// less than what matters in both runs (twice their precision, added as their errors are) or than such runs can tell.
///
/// # Errors
/// When nothing of any run can be compared with the first: says of everything why not.
pub fn compare(runs: &[Named<'_>], margin: Option<f64>) -> Result<Comparison, String> {
    let (mut pairs, mut not_comparable) = (Vec::new(), Vec::new());
    if let Some((first, others)) = runs.split_first() {
        for (index, other) in others.iter().enumerate() {
            let (found, refused) = paired(std::slice::from_ref(first), other, index + 1, margin);
            pairs.extend(found);
            not_comparable.extend(refused);
        }
    }
    if pairs.is_empty() {
        return Err(nothing(runs, &not_comparable));
    }
    let changes = judged(&pairs);
    let mut comparison = Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        verdict: String::new(),
        runs: runs.iter().map(compared_run).collect(),
        differences: differences(runs),
        not_comparable,
        changes,
    };
    comparison.verdict = sentence::verdict(&comparison);
    Ok(comparison)
}

/// The same cost in two runs.
pub(crate) struct Pair<'a> {
    run: usize,
    before: &'a EstimateRow,
    after: &'a EstimateRow,
    pub(crate) headline: bool,
    pub(crate) ratio: LogRatio,
    /// The part of its variance that longer runs have less of.
    pub(crate) variance_within_runs: f64,
    /// Both are logarithms.
    pub(crate) floor: Option<f64>,
    pub(crate) margin: f64,
}

impl Pair<'_> {
    /// True if the load generator was the bottleneck in one of the runs, and the figure is therefore its own.
    pub(crate) fn is_the_clients(&self) -> bool {
        self.bound_by_client().contains(&true)
    }

    /// The same of the first run, and of the later one.
    pub(crate) fn bound_by_client(&self) -> [bool; 2] {
        [self.before, self.after].map(|row| row.rule == Rule::ClientBound)
    }

    /// A ratio changes too where the baseline's time does: dearer and cheaper is what is that in microseconds as well.
    fn also_in_time(&self, (verdict, rule): (CostVerdict, Rule)) -> (CostVerdict, Rule) {
        let is_so = self.in_time().is_none_or(|more| match verdict {
            CostVerdict::Dearer => more.low > 0.0,
            CostVerdict::Cheaper => more.high < 0.0,
            CostVerdict::Same | CostVerdict::CannotTell => true,
        });
        match is_so {
            true => (verdict, rule),
            false => (CostVerdict::CannotTell, Rule::OnlyInPercent),
        }
    }

    /// By how much what the arm takes more than the baseline grew, in microseconds; `None` of what is no time. Runs are independent, so
    /// the squares of both half-widths add up.
    pub(crate) fn in_time(&self) -> Option<Interval> {
        let is_time = ["us", "us/op"].contains(&self.before.unit.as_str());
        let [before, after] = [self.before, self.after].map(|row| row.difference);
        let value = after.value - before.value;
        is_time.then(|| Interval {
            value,
            low: value - (after.value - after.low).hypot(before.high - before.value),
            high: value + (after.high - after.value).hypot(before.value - before.low),
        })
    }

    /// The estimate of the later run.
    pub(crate) fn after(&self) -> &EstimateRow {
        self.after
    }
}

/// Half-widths of the difference of two runs that a margin is away where none is asked for: so of a thing against itself all of some
/// tens of costs are the same in nine of ten.
const HALF_WIDTHS: f64 = 2.2;
/// And so many times what matters it is at most, however noisy the machine is.
const MOST_PRECISIONS: f64 = 6.0;

/// By how much runs drift apart; what is counted drifts with no machine.
fn drift(metric: Metric) -> f64 {
    match metric {
        Metric::BytesPerOp
        | Metric::CellsPerOp
        | Metric::StorageReadPerOp
        | Metric::StorageWrittenPerOp
        | Metric::ClientInstructionsPerOp
        | Metric::ServerInstructionsPerOp => 0.0,
        _ => DRIFT_BETWEEN_RUNS,
    }
}

/// Every cost that a run and the first of some earlier ones have, and what is not compared. The others of these are of the same
/// thing, and tell how much that differs from run to run, where they asked for it alike.
pub(crate) fn paired<'a>(
    earlier: &[Named<'a>],
    other: &Named<'a>,
    run: usize,
    margin: Option<f64>,
) -> (Vec<Pair<'a>>, Vec<NotComparable>) {
    let Some(first) = earlier.first() else {
        return (Vec::new(), Vec::new());
    };
    let Comparable {
        places,
        refused: mut not_comparable,
    } = comparable::comparable(first, other, run);
    let mut beside = vec![(*first, places.clone())];
    for again in earlier.iter().skip(1) {
        let found = comparable::comparable(first, again, run);
        not_comparable.extend(found.refused);
        beside.push((*again, found.places));
    }
    let mut pairs = Vec::new();
    for before in &first.run.results.estimates {
        let is_here = |(cell, arm): &(&str, &str)| *cell == before.cell && *arm == before.arm;
        if !places.iter().any(is_here) {
            continue;
        }
        let cell = first.run.cell(&before.cell);
        let headline = cell.is_some_and(|cell| headlines(first.run, cell).contains(&before.metric));
        if Metric::SERVER_CPU.contains(&before.metric)
            && let Some(why) = counted_otherwise(first, other, &before.cell)
        {
            let what = format!("{} in {}", before.metric, before.cell);
            let refused = NotComparable { run, what, why };
            if !not_comparable.contains(&refused) {
                not_comparable.push(refused);
            }
            continue;
        }
        let after = other
            .run
            .results
            .estimate(&before.cell, &before.arm, before.metric);
        match after {
            Some(after) => {
                let alike: Vec<Named<'_>> = beside
                    .iter()
                    .filter(|(run, places)| {
                        places.iter().any(is_here) && counted_otherwise(first, run, &before.cell).is_none()
                    })
                    .map(|(run, _)| *run)
                    .collect();
                let before_each = of_each(&alike, |results| {
                    let row = results.estimate(&before.cell, &before.arm, before.metric)?;
                    (row.rule != Rule::ClientBound || before.rule == Rule::ClientBound).then_some(row)
                });
                let drift = drift(before.metric);
                let another = before.log_ratio.against(&before_each, drift);
                let can_be_held = HALF_WIDTHS * another.half_width();
                let matters = of_both(first.run, other.run, before.metric);
                let limit = || can_be_held.clamp(matters, MOST_PRECISIONS * matters);
                pairs.push(Pair {
                    run,
                    before,
                    after,
                    headline,
                    ratio: after.log_ratio.against(&before_each, drift),
                    variance_within_runs: after.log_ratio.variance_within_runs(&before_each),
                    floor: floor(&alike, other, before),
                    margin: margin.map_or_else(limit, f64::ln_1p),
                });
            }
            None if headline => not_comparable.push(NotComparable {
                run,
                what: format!("{} of {} in {}", before.metric, before.arm, before.cell),
                why: format!("not measured in {}, or in too few blocks", other.name),
            }),
            None => {}
        }
    }
    (pairs, not_comparable)
}

/// Why the server's CPU of a cell is not that of the other run: whose CPU time was taken for it.
fn counted_otherwise(first: &Named<'_>, other: &Named<'_>, cell: &str) -> Option<String> {
    let of = |run: &Run| {
        let server = run.cell(cell).and_then(|cell| run.server_of(cell.found));
        server.and_then(counted).map(str::to_owned)
    };
    let (here, there) = of(first.run).zip(of(other.run))?;
    let (first, other) = (first.name, other.name);
    (here != there).then(|| format!("it is the CPU time of {there} in {other} and of {here} in {first}"))
}

/// What a study is precise about in a cell: CPU time of both sides, and speed.
fn headlines(run: &Run, cell: MeasuredCell<'_>) -> [Metric; 3] {
    [
        run.results.server_cpu(&cell.found.name),
        Metric::ClientCpuPerOp,
        Metric::speed(cell.asked.load.pace()),
    ]
}

/// The ratio of one row in each of some runs, where they have it.
fn of_each<'a>(runs: &[Named<'a>], row: impl Fn(&'a Results) -> Option<&'a EstimateRow>) -> Vec<LogRatio> {
    let rows = runs.iter().filter_map(|run| row(&run.run.results));
    rows.map(|row| row.log_ratio).collect()
}

/// How far the repeated baselines of the runs are apart, each against its own baseline.
fn floor(earlier: &[Named<'_>], other: &Named<'_>, row: &EstimateRow) -> Option<f64> {
    let again = |runs: &[Named<'_>]| {
        of_each(runs, |results| {
            let mut rows = results.noise_floor.iter();
            rows.find(|again| again.cell == row.cell && again.metric == row.metric)
        })
    };
    let earlier = again(earlier);
    let now = again(std::slice::from_ref(other)).pop()?;
    (!earlier.is_empty()).then(|| now.against(&earlier, 0.0).noise_floor())
}

/// What matters in both runs, added as their errors are.
fn of_both(one: &Run, other: &Run, metric: Metric) -> f64 {
    let of = |run: &Run| margin(&run.head.study, metric).ln_1p();
    of(one).hypot(of(other))
}

fn judged(pairs: &[Pair<'_>]) -> Vec<CostChange> {
    let p_value = |pair: &Pair<'_>| match pair.is_the_clients() {
        true => 1.0,
        false => pair.ratio.p_value(),
    };
    let adjusted = holm(&pairs.iter().map(p_value).collect::<Vec<_>>());
    let change = |(pair, adjusted_p_value): (&Pair<'_>, f64)| {
        let sameness = Sameness {
            direction: pair.before.metric.direction(),
            floor: pair.floor,
            margin: pair.margin,
            adjusted_p_value,
        };
        let (verdict, rule) = match pair.is_the_clients() {
            true => (CostVerdict::CannotTell, Rule::ClientBound),
            false => pair.also_in_time(sameness.judge(&pair.ratio)),
        };
        CostChange {
            run: pair.run,
            cell: pair.before.cell.clone(),
            arm: pair.before.arm.clone(),
            metric: pair.before.metric,
            headline: pair.headline,
            before: pair.before.interval(),
            after: pair.after.interval(),
            unit: pair.before.unit.clone(),
            difference_before: pair.before.difference,
            difference_after: pair.after.difference,
            change: pair.ratio.change(),
            verdict,
            rule,
            floor: pair.floor.map(f64::exp_m1),
            margin: pair.margin.exp_m1(),
            adjusted_p_value,
        }
    };
    pairs.iter().zip(adjusted).map(change).collect()
}

fn compared_run(named: &Named<'_>) -> ComparedRun {
    let head = &named.run.head;
    ComparedRun {
        name: named.name.to_owned(),
        started: head.started.clone(),
        study: head.study.name.clone(),
        cut_off: cut_off(named.run),
    }
}

/// Why a run was cut off; `None` where it came to its end.
pub(crate) fn cut_off(run: &Run) -> Option<String> {
    match &run.head.status {
        RunStatus::Complete | RunStatus::NotCleanedUp { .. } => None,
        RunStatus::Running => Some("ciphertax was ended before the run was complete".into()),
        RunStatus::Partial { reason } => Some(reason.clone()),
    }
}

/// Reasons that an error names.
const NAMED: usize = 5;

/// Why nothing can be compared.
pub(crate) fn nothing(runs: &[Named<'_>], not_comparable: &[NotComparable]) -> String {
    let reason = |refused: &NotComparable| format!("{}: {}", refused.what, refused.why);
    let mut reasons: Vec<String> = not_comparable.iter().take(NAMED).map(reason).collect();
    if not_comparable.len() > NAMED {
        reasons.push(format!("and {} more", not_comparable.len() - NAMED));
    }
    let first = runs.first().map_or("", |named| named.name);
    match reasons.is_empty() {
        true => format!("nothing can be compared: {first} has no estimate; measure longer, with --time"),
        false => format!("nothing can be compared with {first}: {}", reasons.join("; ")),
    }
}
