//! Average sessions by what they did or waited for.

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_bench::{Result, Table};
use ciphertax_records::why::{SymbolTable, Waits};
use ciphertax_stats::Estimate;

use crate::states::{GROUP_COMMIT, NETWORK, REDO_LOG, of_look};
use crate::switches::{ONE_IN, OffCpu};

/// Sessions by state, on average over a slice.
pub(crate) type Sessions = BTreeMap<String, f64>;

/// The same by all ways.
pub(crate) struct Ways {
    pub(crate) sampler: Sessions,
    pub(crate) switches: Sessions,
    /// Switches less what it took threads to get a CPU after they were woken up.
    pub(crate) without_wake_up: Sessions,
}

const RUNNING: &str = "on a CPU, or waiting for one";
/// How far apart both ways may be.
const BAR: f64 = 0.2;
const ON_TRIAL: [&str; 2] = [GROUP_COMMIT, REDO_LOG];

/// Sessions that only ask the server about itself, between slices: idle, so there is no switch of theirs.
const CONTROL: u64 = 1;

/// By looks.
pub(crate) fn of_waits(product: &str, waits: &Waits, symbols: &SymbolTable) -> Sessions {
    let rounds = waits.rounds.max(1) as f64;
    let mut sessions = Sessions::new();
    let mut add = |state: String, seen: u64| *sessions.entry(state).or_default() += seen as f64 / rounds;
    add(RUNNING.to_owned(), waits.running);
    add(
        NETWORK.to_owned(),
        waits.idle.saturating_sub(CONTROL * waits.rounds),
    );
    add(
        "went on while looked at".to_owned(),
        waits.inconsistent + waits.unreadable,
    );
    for blocked in waits.blocked.iter().filter(|blocked| !blocked.background) {
        let names: Vec<(&str, &str)> = symbols.names(blocked.stack).collect();
        let object = blocked.object.as_deref();
        add(of_look(product, &blocked.call, object, &names), blocked.seen);
    }
    sessions
}

/// By switches, of whose waits so much was spent after the thread was woken up.
pub(crate) fn of_switches(off: &OffCpu, length_ns: f64, wake_up_ns: f64) -> Sessions {
    let mut sessions = Sessions::new();
    for (state, waited) in &off.states {
        let waited_ns = waited.ns as f64 - waited.times as f64 * wake_up_ns;
        sessions.insert(state.clone(), f64::from(ONE_IN) * waited_ns.max(0.0) / length_ns);
    }
    let runnable_ns = off.preempted_ns as f64 + off.of_sessions.times as f64 * wake_up_ns;
    sessions.insert(
        RUNNING.to_owned(),
        (off.on_cpu_ns as f64 + runnable_ns) / length_ns,
    );
    sessions
}

/// The states of all slices, those with most sessions first.
pub(crate) fn table(slices: &[&Ways]) -> Result<Table> {
    let mut table = Table::new(&[
        "state",
        "wait sampler",
        "switch records",
        "sampler / switches",
        "switches until woken up",
        "sampler / switches until woken up",
        "within 20 %",
    ]);
    let states: BTreeSet<&String> = slices
        .iter()
        .flat_map(|slice| slice.sampler.keys().chain(slice.switches.keys()))
        .collect();
    let series = |state: &str, way: fn(&Ways) -> &Sessions| -> Vec<f64> {
        let of_slice = |slice: &&Ways| way(slice).get(state).copied().unwrap_or(0.0);
        slices.iter().map(of_slice).collect()
    };
    let mut rows = Vec::new();
    for state in states {
        let sampler = series(state, |slice| &slice.sampler);
        let switches = series(state, |slice| &slice.switches);
        let woken = series(state, |slice| &slice.without_wake_up);
        let (whole, until) = (Ratio::of(&switches, &sampler)?, Ratio::of(&woken, &sampler)?);
        let holds = |ratio: &Ratio| (ratio.value - 1.0).abs() <= BAR;
        let verdict = match (holds(&whole), holds(&until)) {
            _ if !ON_TRIAL.contains(&state.as_str()) => "",
            (true, true) => "yes",
            (true, false) => "as recorded, not until woken up",
            (false, true) => "until woken up, not as recorded",
            (false, false) => "**no**",
        };
        let row = [
            state.clone(),
            format!("{:.2}", mean(&sampler)),
            format!("{:.2}", mean(&switches)),
            whole.text,
            format!("{:.2}", mean(&woken)),
            until.text,
            verdict.to_owned(),
        ];
        rows.push((f64::max(mean(&sampler), mean(&switches)), row));
    }
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    rows.into_iter().for_each(|(_, row)| table.row(row));
    Ok(table)
}

/// How many times as much one way says as another.
struct Ratio {
    value: f64,
    text: String,
}

impl Ratio {
    fn of(base: &[f64], other: &[f64]) -> Result<Self> {
        if base.iter().chain(other).all(|value| *value > 0.0) && base.len() > 1 {
            let estimate = Estimate::of_pairs(base, other)?;
            let [value, low, high] =
                [estimate.change, estimate.low, estimate.high].map(|change| 1.0 + change);
            return Ok(Self {
                value,
                text: format!("{value:.2} [{low:.2}, {high:.2}]"),
            });
        }
        let value = mean(other) / mean(base);
        Ok(Self {
            value,
            text: if value.is_finite() {
                format!("{value:.2}")
            } else {
                "–".into()
            },
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
