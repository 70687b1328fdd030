//! The order of what could bound an arm. A lower bound of a 95 % interval has to lie above each threshold.

use ciphertax_base::format::rounded;
use ciphertax_model::{Cell, Pace};
use ciphertax_records::why::Bound;

use super::usage::{Fraction, Usage};
use crate::why::categories::SPINNING;
use crate::why::states::State;

/// From here on the load threads have no CPU left, as for every slice.
const CLIENT_FULL: f64 = 0.85;
/// The part of the CPUs from which on other programs are what an arm is bound by, if they are full.
const OTHERS: f64 = 0.20;
/// From here on the server's CPUs are full.
const CPUS_FULL: f64 = 0.90;
/// The part of the round trip that is on a CPU or waits for one, where CPUs are the bound.
const RUNNING: f64 = 0.50;
/// The part of the server's samples that wait for a lock on the CPU, where that is what the CPU is used for.
const SPINS: f64 = 0.20;
/// The part of the round trip that waits for the log, for other servers or for pages, where that is the bound.
const WAITS: f64 = 0.30;
/// The same for one lock.
const LOCK: f64 = 0.20;
/// The same for the way to the server and back.
const NETWORK: f64 = 0.50;
/// The part of the round trip from which on waiting is worth a remark.
const WORTH_A_REMARK: f64 = 0.05;

/// What bounds an arm, and why.
pub(super) struct Decided {
    pub(super) bound: Bound,
    pub(super) of: Option<String>,
    pub(super) evidence: Vec<String>,
    /// The part of the round trip that the bound takes; `None` where it takes no part of it.
    pub(super) share: Option<f64>,
}

/// The first that holds.
pub(super) fn decide(usage: &Usage, cell: &Cell) -> Decided {
    client_cpu(usage)
        .or_else(|| other_programs(usage))
        .or_else(|| schedule(usage, cell))
        .or_else(|| server_cpu(usage))
        .or_else(|| log_flush(usage))
        .or_else(|| replication(usage))
        .or_else(|| device_reads(usage))
        .or_else(|| lock(usage))
        .or_else(|| round_trips(usage))
        .unwrap_or_else(|| mixed(usage))
}

fn client_cpu(usage: &Usage) -> Option<Decided> {
    let client = usage.client.filter(|client| client.low > CLIENT_FULL)?;
    Some(Decided {
        bound: Bound::ClientCpu,
        of: None,
        evidence: vec![load_threads(client)],
        share: None,
    })
}

fn other_programs(usage: &Usage) -> Option<Decided> {
    let others = usage
        .others
        .filter(|others| others.low >= OTHERS && are_full(usage))?;
    let mut evidence = vec![format!(
        "other programs and the kernel itself use {} of the CPUs",
        percent(others)
    )];
    evidence.extend(cpus(usage));
    Some(Decided {
        bound: Bound::OtherPrograms,
        of: None,
        evidence,
        share: None,
    })
}

/// Slices in which an open loop did not keep its schedule are void.
fn schedule(usage: &Usage, cell: &Cell) -> Option<Decided> {
    let Pace::Open { rate } = cell.load.pace() else {
        return None;
    };
    let mut evidence = vec![format!("{rate} operations a second are asked for, and done")];
    evidence.extend(cpus(usage));
    Some(Decided {
        bound: Bound::Schedule,
        of: None,
        evidence,
        share: None,
    })
}

fn server_cpu(usage: &Usage) -> Option<Decided> {
    let running = usage.running;
    if running.low < RUNNING || !are_full(usage) {
        return None;
    }
    let mut evidence = vec![format!(
        "on a CPU or waiting for one {}",
        of_round_trip(usage, running)
    )];
    evidence.extend(cpus(usage));
    let category = usage.categories.first();
    let spinning = usage.categories.iter().find(|(name, _)| *name == SPINNING);
    let mut decided = Decided {
        bound: Bound::ServerCpu,
        of: category.map(|(name, _)| (*name).to_owned()),
        evidence,
        share: Some(running.value),
    };
    if let Some((_, share)) = spinning.filter(|(_, share)| share.low >= SPINS) {
        decided.bound = Bound::Spinning;
        decided.of = usage.spins_for.clone();
        let lock = decided.of.as_deref().unwrap_or("a lock");
        decided.evidence.push(format!(
            "{} of the server's CPU time spins for {lock}",
            percent(*share)
        ));
    } else if let Some((name, share)) = category {
        decided.evidence.push(format!(
            "most of the server's CPU time is {name}: {}",
            percent(*share)
        ));
    }
    decided.evidence.extend(waiters(usage));
    Some(decided)
}

/// Sessions that wait for something else while there is no CPU for them would wait for the CPU instead.
fn waiters(usage: &Usage) -> Option<String> {
    let mut waits: Vec<(State, Fraction)> = usage.largest();
    waits.retain(|(state, share)| {
        let waits = !matches!(state, State::OnCpu | State::Runnable | State::Network);
        waits && share.value >= WORTH_A_REMARK
    });
    let (state, share) = waits.first()?;
    let what = name(usage, *state);
    Some(format!(
        "sessions wait for {what} too, {}; with no CPU free that is not the bottleneck",
        of_round_trip(usage, *share)
    ))
}

fn log_flush(usage: &Usage) -> Option<Decided> {
    waited_for(usage, State::LogFlush, Bound::LogFlush, WAITS)
}

fn replication(usage: &Usage) -> Option<Decided> {
    waited_for(usage, State::Replication, Bound::Replication, WAITS)
}

fn device_reads(usage: &Usage) -> Option<Decided> {
    waited_for(usage, State::DeviceReads, Bound::DeviceReads, WAITS)
}

fn waited_for(usage: &Usage, state: State, bound: Bound, threshold: f64) -> Option<Decided> {
    let share = usage.share(state);
    if share.low < threshold {
        return None;
    }
    let parts: Vec<String> = usage
        .details(state)
        .iter()
        .filter(|(_, share)| share.value >= WORTH_A_REMARK)
        .map(|(detail, share)| format!("{detail} {}", us(usage, *share)))
        .collect();
    let parts = match parts.len() {
        0 => String::new(),
        _ => format!(": {}", parts.join(", ")),
    };
    let mut evidence = vec![format!("{} {}{parts}", state.name(), of_round_trip(usage, share))];
    evidence.extend(cpus(usage));
    Some(Decided {
        bound,
        of: usage
            .details(state)
            .first()
            .map(|(detail, _)| (*detail).to_owned()),
        evidence,
        share: Some(share.value),
    })
}

fn lock(usage: &Usage) -> Option<Decided> {
    let ((state, detail), share) = usage.lock()?;
    if share.low < LOCK || are_full(usage) {
        return None;
    }
    let name = detail.clone().unwrap_or_else(|| state.name().to_owned());
    let mut evidence = vec![format!("{name} {}", of_round_trip(usage, share))];
    evidence.extend(cpus(usage));
    Some(Decided {
        bound: Bound::Lock,
        of: Some(name),
        evidence,
        share: Some(share.value),
    })
}

fn round_trips(usage: &Usage) -> Option<Decided> {
    let share = usage.share(State::Network);
    // Sessions wait for their client too where it has no CPU left.
    if share.low < NETWORK || are_full(usage) || perhaps_full_client(usage).is_some() {
        return None;
    }
    let mut evidence = vec![format!("network and client {}", of_round_trip(usage, share))];
    evidence.extend(
        usage
            .link
            .map(|link| format!("the link takes {} ms there and back", link.rtt_ms)),
    );
    evidence.extend(cpus(usage));
    Some(Decided {
        bound: Bound::RoundTrips,
        of: None,
        evidence,
        share: Some(share.value),
    })
}

fn mixed(usage: &Usage) -> Decided {
    let largest = usage.largest();
    let told = largest
        .iter()
        .take(3)
        .filter(|(_, share)| share.value >= WORTH_A_REMARK);
    let mut evidence: Vec<String> = told
        .map(|(state, share)| format!("{} {}", state.name(), of_round_trip(usage, *share)))
        .collect();
    evidence.extend(perhaps_full_client(usage).map(load_threads));
    evidence.extend(cpus(usage));
    Decided {
        bound: Bound::Mixed,
        of: None,
        evidence,
        share: None,
    }
}

fn are_full(usage: &Usage) -> bool {
    usage.cpus.is_some_and(|cpus| cpus.low >= CPUS_FULL)
}

/// What the load threads use, where they cannot be said to have CPU time left.
fn perhaps_full_client(usage: &Usage) -> Option<Fraction> {
    usage.client.filter(|client| client.high() > CLIENT_FULL)
}

fn load_threads(client: Fraction) -> String {
    format!("the load threads use {} of their CPUs", percent(client))
}

fn cpus(usage: &Usage) -> Option<String> {
    let busy = percent(usage.cpus?);
    Some(match usage.cpu_count {
        1 => format!("the server's one CPU is {busy} busy"),
        count => format!("the {count} CPUs are {busy} busy"),
    })
}

/// What is waited for in a state: most of it, or the state.
fn name(usage: &Usage, state: State) -> String {
    let details = usage.details(state);
    details
        .first()
        .map_or(state.name(), |(detail, _)| detail)
        .to_owned()
}

fn percent(fraction: Fraction) -> String {
    format!("{:.0} %", fraction.value * 100.0)
}

fn us(usage: &Usage, share: Fraction) -> String {
    rounded::microseconds(share.value * usage.round_trip_us)
}

/// `518 µs of 1.86 ms (28 %)`
pub(super) fn of_round_trip(usage: &Usage, share: Fraction) -> String {
    format!(
        "{} of {} ({})",
        us(usage, share),
        rounded::microseconds(usage.round_trip_us),
        percent(share)
    )
}
