//! Do the costs of a run stay within what they may be?

use ciphertax_base::Direction;
use ciphertax_base::Interval;
use ciphertax_model::{Budget, Cell, Metric, Precision, Study};
use ciphertax_records::{EstimateRow, GATE_SCHEMA, Gate, GateRow, HeldTo, NotHeld, Run};
use ciphertax_stats::bound::Bound;
use ciphertax_stats::verdict::holm;
use ciphertax_stats::{BoundVerdict, LogRatio, Rule};

use crate::compare::{Named, Pair, cut_off, differences, nothing, paired};

/// Holds a run to budgets and to what it cost in earlier runs of the same thing, where it may have risen by no more than `margin`, a
/// factor less one; without it, by no more than what matters, and what runs as long as these can hold.
///
/// # Errors
/// When there is nothing to hold it to, nothing of it can be compared with the earlier run, or all that can is the load generator's.
pub fn gate(
    run: Named<'_>,
    budgets: &[Budget],
    earlier: &[Named<'_>],
    margin: Option<f64>,
) -> Result<Gate, String> {
    let mut held: Vec<Held> = budgets
        .iter()
        .flat_map(|budget| of_budget(run.run, budget))
        .collect();
    let (mut differing, mut not_comparable, mut not_held) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(first) = earlier.first() {
        let runs = [*first, run];
        let (pairs, refused) = paired(earlier, &run, 1, margin);
        if pairs.is_empty() {
            return Err(nothing(&runs, &refused));
        }
        let headlines = pairs.iter().filter(|pair| pair.headline);
        let (the_clients, costs): (Vec<_>, Vec<_>) = headlines.partition(|pair| pair.is_the_clients());
        let elapsed_s = run.run.results.elapsed_s;
        held.extend(costs.into_iter().map(|pair| of_pair(pair, elapsed_s)));
        not_held.extend(
            the_clients
                .into_iter()
                .map(|pair| the_clients_figure(pair, &runs)),
        );
        let all: Vec<Named<'_>> = earlier.iter().copied().chain([run]).collect();
        differing = differences(&all);
        not_comparable = refused;
    }
    if held.is_empty() {
        return Err(nothing_held(run.name, &not_held, earlier.first()));
    }
    let rows = judged(held);
    let is_any = |verdict| rows.iter().any(|row| row.verdict == verdict);
    let verdict = match (is_any(BoundVerdict::Over), is_any(BoundVerdict::CannotTell)) {
        (true, _) => BoundVerdict::Over,
        // What the earlier run has and this one has not cannot be vouched for.
        (false, open) if open || !not_comparable.is_empty() => BoundVerdict::CannotTell,
        (false, _) => BoundVerdict::Within,
    };
    Ok(Gate {
        schema: GATE_SCHEMA.to_owned(),
        verdict,
        run: run.name.to_owned(),
        started: run.run.head.started.clone(),
        cut_off: cut_off(run.run),
        baselines: earlier.iter().map(|earlier| earlier.name.to_owned()).collect(),
        baseline_cut_off: earlier.iter().find_map(|earlier| cut_off(earlier.run)),
        differences: differing,
        not_comparable,
        not_held,
        rows,
    })
}

fn nothing_held(run: &str, not_held: &[NotHeld], earlier: Option<&Named<'_>>) -> String {
    let names = not_held
        .iter()
        .map(|cost| format!("{} of {} in {}", cost.metric, cost.arm, cost.cell));
    let names: Vec<String> = names.collect();
    match earlier {
        None => format!(
            "{run} has no budget: its study has no [[budget]]; give --budget 'ARM: server_cpu_per_op <= 35%', or an earlier run with \
             --baseline"
        ),
        Some(earlier) if names.is_empty() => format!(
            "the run and {} have no headline cost in common; give --budget for what is in the run",
            earlier.name
        ),
        Some(earlier) => format!(
            "nothing can be compared with {}: the load generator was the bottleneck, so these figures are its own: {}; measure both again \
             with a lower load, or give --budget for a cost of CPU",
            earlier.name,
            names.join("; ")
        ),
    }
}

/// A cost and what it is held to, before it is judged.
struct Held {
    held_to: HeldTo,
    cell: String,
    arm: String,
    metric: Metric,
    bound: Bound,
    measured: Result<Measured, String>,
    /// `None` of a budget.
    against: Option<Against>,
}

/// What is known of a cost beside earlier runs.
struct Against {
    rose_in_time: bool,
    /// The part of the ratio's variance that longer runs have less of.
    variance_within_runs: f64,
    /// How many seconds the run took.
    elapsed_s: f64,
}

struct Measured {
    ratio: LogRatio,
    change: Interval,
    is_the_clients: bool,
}

/// The costs that a budget is of; one that says why where there is none.
fn of_budget(run: &Run, budget: &Budget) -> Vec<Held> {
    let study = &run.head.study;
    let held = |cell: &str, arm: &str, found: Result<&EstimateRow, String>| Held {
        held_to: HeldTo::Budget,
        cell: cell.to_owned(),
        arm: arm.to_owned(),
        metric: budget.metric,
        bound: Bound {
            direction: budget.metric.direction(),
            at_most: budget.log_at_most(),
            floor: found.as_ref().ok().and_then(|row| row.floor).map(f64::ln_1p),
        },
        measured: found.map(|row| Measured {
            ratio: row.log_ratio,
            change: row.interval(),
            is_the_clients: row.rule == Rule::ClientBound,
        }),
        against: None,
    };
    let mut rows = Vec::new();
    let is_meant = |said: &Option<String>, name: &str| said.as_ref().is_none_or(|said| said == name);
    for cell in study
        .cells
        .iter()
        .filter(|cell| is_meant(&budget.cell, &cell.name))
    {
        // A budget of all cells is of those that have its metric.
        if budget.cell.is_none() && !has(study, cell, budget.metric) {
            continue;
        }
        let variants = study
            .arms_of(cell)
            .filter(|arm| arm.name != study.baseline().name);
        for arm in variants.filter(|arm| is_meant(&budget.arm, &arm.name)) {
            let row = run.results.estimate(&cell.name, &arm.name, budget.metric);
            let found = row.ok_or_else(|| why_unmeasured(run, &cell.name, budget.metric));
            rows.push(held(&cell.name, &arm.name, found));
        }
    }
    if rows.is_empty() {
        let cell = budget.cell.as_deref().unwrap_or("*");
        let arm = budget.arm.as_deref().unwrap_or("*");
        let left_out = run.head.left_out.iter().find(|left_out| left_out.arm == arm);
        let why = match left_out {
            Some(left_out) => format!("the arm was left out, because {}", left_out.reason),
            None => "no cell of the run measures it".into(),
        };
        rows.push(held(cell, arm, Err(why)));
    }
    rows
}

/// True if arms are compared by a metric in a cell.
fn has(study: &Study, cell: &Cell, metric: Metric) -> bool {
    let of_rounds = study.differs_at_rest() && Metric::COMPARED_OF_ROUNDS.contains(&metric);
    of_rounds || cell.compared().any(|compared| compared == metric)
}

fn why_unmeasured(run: &Run, cell: &str, metric: Metric) -> String {
    let server = run.cell(cell).and_then(|cell| run.server_of(cell.found));
    let unread = server.and_then(|server| server.cpu_unread.as_ref());
    match unread.filter(|_| Metric::SERVER_CPU.contains(&metric)) {
        Some(reason) => format!("it was not measured: {reason}"),
        None if metric.is_of_hardware() => {
            "not measured, or in too few blocks: `ciphertax doctor` says whether the CPU's counters are available, and METHODOLOGY.md \
             what they exclude"
                .into()
        }
        None => "not measured, or in too few blocks; measure longer, with --time".into(),
    }
}

/// A figure that says nothing about the server, by the run that it is of.
fn the_clients_figure(pair: &Pair<'_>, [earlier, run]: &[Named<'_>; 2]) -> NotHeld {
    let row = pair.after();
    let of = match pair.bound_by_client() {
        [true, true] => "both runs".to_owned(),
        [true, false] => earlier.name.to_owned(),
        _ => run.name.to_owned(),
    };
    NotHeld {
        cell: row.cell.clone(),
        arm: row.arm.clone(),
        metric: row.metric,
        why: format!("the load generator was the bottleneck in {of}, so the figure is the client's"),
    }
}

/// What a study is precise about, against the earlier runs.
fn of_pair(pair: &Pair<'_>, elapsed_s: f64) -> Held {
    let row = pair.after();
    Held {
        held_to: HeldTo::EarlierRun,
        cell: row.cell.clone(),
        arm: row.arm.clone(),
        metric: row.metric,
        bound: Bound {
            direction: row.metric.direction(),
            at_most: pair.margin,
            floor: pair.floor,
        },
        measured: Ok(Measured {
            ratio: pair.ratio,
            change: pair.ratio.change(),
            is_the_clients: false,
        }),
        against: Some(Against {
            rose_in_time: pair.in_time().is_none_or(|more| more.low > 0.0),
            variance_within_runs: pair.variance_within_runs,
            elapsed_s,
        }),
    }
}

fn judged(held: Vec<Held>) -> Vec<GateRow> {
    let p_value = |held: &Held| match &held.measured {
        Ok(measured) if !measured.is_the_clients => held.bound.p_value_over(&measured.ratio),
        _ => 1.0,
    };
    let adjusted = holm(&held.iter().map(p_value).collect::<Vec<_>>());
    let each = held.into_iter().zip(adjusted);
    each.map(|(held, adjusted_p_value)| row(held, adjusted_p_value))
        .collect()
}

fn row(held: Held, adjusted_p_value: f64) -> GateRow {
    let bound = &held.bound;
    let (verdict, rule) = match &held.measured {
        Err(_) => (BoundVerdict::CannotTell, None),
        Ok(measured) if measured.is_the_clients => (BoundVerdict::CannotTell, Some(Rule::ClientBound)),
        Ok(measured) => {
            let rose = held.against.as_ref().is_none_or(|against| against.rose_in_time);
            match bound.holds(&measured.ratio, adjusted_p_value) {
                (BoundVerdict::Over, _) if !rose => (BoundVerdict::CannotTell, Some(Rule::OnlyInPercent)),
                (verdict, rule) => (verdict, Some(rule)),
            }
        }
    };
    let precision_needed = match (&held.measured, verdict, rule) {
        (_, _, Some(Rule::ClientBound | Rule::NoFloor)) => None,
        (Ok(measured), BoundVerdict::CannotTell, _) if held.held_to == HeldTo::Budget => {
            precision_needed(bound, &measured.ratio)
        }
        _ => None,
    };
    let time_needed_s = match (&held.measured, rule, &held.against) {
        (Ok(measured), Some(Rule::IntervalTooWide), Some(against)) => {
            let times = times_as_long(bound, &measured.ratio, against.variance_within_runs);
            times.map(|times| times * against.elapsed_s)
        }
        _ => None,
    };
    let (measured, unmeasured) = match held.measured {
        Ok(measured) => (Some(measured.change), None),
        Err(why) => (None, Some(why)),
    };
    GateRow {
        held_to: held.held_to,
        cell: held.cell,
        arm: held.arm,
        metric: held.metric,
        limit: match bound.direction {
            Direction::HigherCosts => bound.at_most.exp_m1(),
            Direction::LowerCosts => (-bound.at_most).exp_m1(),
        },
        measured,
        verdict,
        rule,
        unmeasured,
        floor: bound.floor.map(f64::exp_m1),
        adjusted_p_value,
        precision_needed,
        time_needed_s,
    }
}

/// How many times as long both runs would have to be to tell, if the cost is what it seems, with a fifth to spare; `None` where runs of
/// the same thing differ by more from each other, however long they are.
fn times_as_long(bound: &Bound, ratio: &LogRatio, within: f64) -> Option<f64> {
    let cost = match bound.direction {
        Direction::HigherCosts => ratio.mean,
        Direction::LowerCosts => -ratio.mean,
    };
    let quantile = ratio.half_width() / ratio.standard_error;
    let needed = (0.8 * (cost - bound.at_most).abs() / quantile).powi(2);
    let between = (ratio.standard_error.powi(2) - within).max(0.0);
    (needed > between).then(|| within / (needed - between))
}

/// The half-width with which the interval would end before the limit if the cost is what it seems, with a fifth to spare for what
/// it is not; `None` where it seems to be at the limit.
fn precision_needed(bound: &Bound, ratio: &LogRatio) -> Option<f64> {
    let cost = match bound.direction {
        Direction::HigherCosts => ratio.mean,
        Direction::LowerCosts => -ratio.mean,
    };
    let needed = (0.8 * (cost - bound.at_most).abs()).exp_m1();
    (needed >= *Precision::HALF_WIDTH.start()).then_some(needed)
}
