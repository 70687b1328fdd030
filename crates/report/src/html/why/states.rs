//! What the sessions of each arm did or waited for, as bars of the time of an operation.

use ciphertax_records::Run;
use ciphertax_records::why::StateRow;
use ciphertax_stats::format;
use serde::Serialize;

use super::super::figure::{ArmName, Figure, Range};
use super::super::scale::percent;
use crate::why::words::{is_again, state_in_words};

/// States that have a colour of their own, and the colour of all others together.
const COLOURS: usize = 7;
const OTHERS: &str = "others";

/// All arms of a cell.
#[derive(Serialize)]
pub(super) struct States {
    cell: String,
    /// What the picture is known by.
    chart: &'static str,
    /// By what the time is told apart, after "time of an operation".
    by: &'static str,
    /// What the rows are called.
    of: &'static str,
    legend: Vec<StateName>,
    bars: Vec<StateBar>,
    rows: Vec<StateLine>,
}

/// A state and its colour.
#[derive(Serialize)]
struct StateName {
    label: String,
    class: String,
}

/// An arm.
#[derive(Serialize)]
struct StateBar {
    arm: ArmName,
    total: String,
    width: String,
    words: String,
    pieces: Vec<StatePiece>,
}

/// A state of an arm.
#[derive(Serialize)]
struct StatePiece {
    class: String,
    width: String,
    text: String,
    words: String,
}

/// A state of an arm in numbers.
#[derive(Serialize)]
struct StateLine {
    arm: ArmName,
    arm_name: String,
    first_of_arm: bool,
    states_of_arm: usize,
    state: String,
    us: Figure,
    difference: Option<Range>,
}

impl States {
    /// `None` where no session was watched.
    pub(super) fn of(run: &Run, cell: &str) -> Option<Self> {
        let by = "by what its session did or waited for";
        Self::of_rows(run, cell, &run.results.why.states, ["states", by, "state"])
    }

    /// The same by the server's own wait events; `None` where it has none.
    pub(super) fn wait_events(run: &Run, cell: &str) -> Option<Self> {
        let by = "by what the server itself says that its session waited for";
        let words = ["wait-events", by, "wait event"];
        Self::of_rows(run, cell, &run.results.why.wait_events, words)
    }

    fn of_rows(run: &Run, cell: &str, rows: &[StateRow], [chart, by, of]: [&'static str; 3]) -> Option<Self> {
        let rows: Vec<&StateRow> = rows
            .iter()
            .filter(|row| row.cell == cell && !is_again(run, &row.arm))
            .collect();
        let mut arms: Vec<&str> = rows.iter().map(|row| row.arm.as_str()).collect();
        arms.dedup();
        let total = |arm: &str| of_arm(&rows, arm).iter().map(|row| row.us).sum::<f64>();
        let longest = arms.iter().map(|arm| total(arm)).fold(0.0, f64::max);
        if longest <= 0.0 {
            return None;
        }
        let named = named(&rows);
        let bar = |arm: &&str| {
            let by_state = by_state(&of_arm(&rows, arm), &named);
            let total = total(arm);
            let words: Vec<String> = by_state
                .iter()
                .map(|(state, us)| format!("{state} {}", format::microseconds(*us)))
                .collect();
            StateBar {
                arm: ArmName::of(run, arm),
                total: format::microseconds(total),
                width: percent(100.0 * total / longest),
                words: format!("{arm}: {}", words.join(", ")),
                pieces: by_state
                    .iter()
                    .filter(|(_, us)| *us > 0.0)
                    .map(|(state, us)| StatePiece {
                        class: class(state, &named),
                        width: percent(100.0 * us / total),
                        // A number of this many characters fits this share of the longest bar, also on a phone.
                        text: match us / longest > 0.22 {
                            true => format::microseconds(*us),
                            false => String::new(),
                        },
                        words: format!("{arm}, {state}: {}", format::microseconds(*us)),
                    })
                    .collect(),
            }
        };
        let has_others = rows.iter().any(|row| !named.contains(&row.state.as_str()));
        let legend = named.iter().copied().chain(has_others.then_some(OTHERS));
        Some(Self {
            cell: cell.to_owned(),
            chart,
            by,
            of,
            legend: legend
                .map(|state| StateName {
                    label: state.to_owned(),
                    class: class(state, &named),
                })
                .collect(),
            bars: arms.iter().map(bar).collect(),
            rows: arms
                .iter()
                .flat_map(|arm| lines(run, of_arm(&rows, arm)))
                .collect(),
        })
    }
}

/// The states that take most, in the order in which they stand in the record.
fn named<'a>(rows: &[&'a StateRow]) -> Vec<&'a str> {
    let mut all: Vec<(&str, f64)> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|(state, _)| *state == row.state) {
            Some((_, us)) => *us += row.us,
            None => all.push((&row.state, row.us)),
        }
    }
    let mut largest: Vec<f64> = all.iter().map(|(_, us)| *us).collect();
    largest.sort_by(|one, other| other.total_cmp(one));
    let least = largest.get(COLOURS - 1).copied().unwrap_or(0.0);
    let named = all.into_iter().filter(|(_, us)| *us >= least);
    named.map(|(state, _)| state).take(COLOURS).collect()
}

fn of_arm<'a>(rows: &[&'a StateRow], arm: &str) -> Vec<&'a StateRow> {
    rows.iter().copied().filter(|row| row.arm == arm).collect()
}

fn by_state<'a>(rows: &[&'a StateRow], named: &[&'a str]) -> Vec<(&'a str, f64)> {
    let mut sums: Vec<(&str, f64)> = named.iter().map(|state| (*state, 0.0)).collect();
    sums.push((OTHERS, 0.0));
    for row in rows {
        let at = named.iter().position(|state| *state == row.state);
        sums[at.unwrap_or(named.len())].1 += row.us;
    }
    sums
}

/// The colours of phases, which are told apart by everyone in this order; the last is grey.
fn class(state: &str, named: &[&str]) -> String {
    let at = named.iter().position(|name| *name == state);
    format!("phase-{}", at.unwrap_or(COLOURS))
}

fn lines(run: &Run, rows: Vec<&StateRow>) -> Vec<StateLine> {
    let states_of_arm = rows.len();
    let line = |(index, row): (usize, &StateRow)| StateLine {
        arm: ArmName::of(run, &row.arm),
        arm_name: row.arm.clone(),
        first_of_arm: index == 0,
        states_of_arm,
        state: state_in_words(row),
        us: Figure::microseconds(row.us),
        difference: row.difference.map(Range::microseconds),
    };
    rows.into_iter().enumerate().map(line).collect()
}
