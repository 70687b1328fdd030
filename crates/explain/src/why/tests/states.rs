//! The time of an operation by state.

use ciphertax_records::why::{StateRow, WaitEvents, Waits, Why};

use super::made_up::{MadeUp, STUDY, Truth};

const GROUP_COMMIT: &[&str] = &[
    "THD::wait_for_wakeup_ready",
    "MYSQL_BIN_LOG::write_transaction_to_binlog_events",
];
const REDO: &[&str] = &["log_write_up_to", "ha_commit_trans"];

/// A durable update.
pub(super) fn durable() -> Truth {
    Truth {
        server: vec![("SQL", 60.0), ("network", 18.0)],
        client_us: 30.0,
        runnable_us: 465.0,
        waits: vec![("futex", GROUP_COMMIT, 518.0), ("fdatasync", REDO, 481.0)],
        network_us: 262.0,
        idle: 0.35,
        others: 0.0,
    }
}

fn of<'a>(why: &'a Why, arm: &'a str, state: &'a str, detail: Option<&'a str>) -> &'a StateRow {
    let mut rows = why.states.iter();
    rows.find(|row| row.arm == arm && row.state == state && row.detail.as_deref() == detail)
        .unwrap()
}

#[test]
fn the_states_of_an_arm_add_up_to_its_connections_by_its_throughput() {
    let truth = durable();
    let tls = truth.clone().with("record", 13.0);
    let made = MadeUp::run(STUDY, [&truth, &truth, &tls], 61, 5);
    let why = made.why();
    for arm in super::made_up::ARMS {
        let sum: f64 = why
            .states
            .iter()
            .filter(|row| row.arm == arm)
            .map(|row| row.us)
            .sum();
        let looked = made
            .samples
            .iter()
            .filter(|sample| sample.look.is_some() && sample.slice.arm == arm);
        let (time_ns, operations) = looked.fold((0, 0), |(time, operations), sample| {
            (
                time + sample.load.duration_ns,
                operations + sample.load.operation_count(),
            )
        });
        let expected = 8.0 * time_ns as f64 / 1e3 / operations as f64;
        let is_near = (sum / expected - 1.0).abs() < 1e-9;
        assert!(is_near, "{arm}: {sum} against {expected}");
    }
}

#[test]
fn what_is_waited_for_takes_what_it_takes_and_more_cpu_time_is_found_beside_it() {
    let truth = durable();
    let tls = truth.clone().with("record", 13.0);
    let why = MadeUp::run(STUDY, [&truth, &truth, &tls], 121, 5).why();
    let near = |row: &StateRow, us: f64| assert!((row.us / us - 1.0).abs() < 0.15, "{row:?} should be {us}");
    near(of(&why, "plain", "log flush", Some("group commit")), 518.0);
    near(of(&why, "plain", "log flush", Some("redo log")), 481.0);
    near(of(&why, "plain", "runnable", None), 465.0);
    near(of(&why, "plain", "network and client", None), 262.0);
    assert!(of(&why, "plain", "on CPU", None).difference.is_none());
    let on_cpu = of(&why, "tls", "on CPU", None).difference.unwrap();
    let is_near = on_cpu.low < 13.0 && 13.0 < on_cpu.high && on_cpu.low > 5.0;
    assert!(is_near, "{on_cpu:?}");
}

#[test]
fn looks_at_threads_that_serve_nobody_are_no_sessions() {
    let truth = durable();
    let mut made = MadeUp::run(STUDY, [&truth, &truth, &truth], 61, 5);
    let before = made.why();
    for waits in &mut made.looks.waits {
        let mut background = waits.blocked[0].clone();
        background.background = true;
        background.seen = 1_000;
        waits.blocked.push(background);
        waits.background_running = waits.running;
    }
    let after = made.why();
    assert_eq!(
        of(&before, "plain", "log flush", Some("group commit")).us,
        of(&after, "plain", "log flush", Some("group commit")).us
    );
    let ratio = of(&after, "plain", "on CPU", None).us / of(&before, "plain", "on CPU", None).us;
    assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
}

/// One slice of the baseline stalled: it had few operations, each of which took long.
fn with_a_stalled_slice() -> MadeUp {
    let truth = durable();
    let tls = truth.clone().with("record", 13.0);
    let mut made = MadeUp::run(STUDY, [&truth, &truth, &tls], 26, 5);
    let mut samples = made.samples.iter_mut();
    let stalled = samples.find(|sample| sample.look.is_some() && sample.slice.arm == "plain");
    let load = &mut stalled.unwrap().load;
    load.operations[0].count = 11;
    made
}

#[test]
fn a_slice_with_few_operations_weighs_little_and_bounds_and_states_say_the_same() {
    let why = with_a_stalled_slice().why();
    let rows = why.states.iter().filter(|row| row.arm == "plain");
    let all: f64 = rows.map(|row| row.us).sum();
    let bound = why.bound("select", "plain").unwrap();
    let round_trip = format!(" of {} (", ciphertax_base::format::rounded::microseconds(all));
    assert!(bound.evidence[0].contains(&round_trip), "{all}: {bound:?}");
}

#[test]
fn values_and_differences_of_states_subtract() {
    let mut made = with_a_stalled_slice();
    // A block that one arm lacks is nobody's.
    let samples = made.samples.iter_mut();
    let mut of_tls = samples.filter(|sample| sample.look.is_some() && sample.slice.arm == "tls");
    of_tls.next_back().unwrap().void = Some(ciphertax_records::VoidReason::Empty);
    let why = made.why();
    let mut differences = 0;
    for row in why.states.iter().filter(|row| row.arm != "plain") {
        let baseline = of(&why, "plain", &row.state, row.detail.as_deref());
        let difference = row.difference.unwrap();
        assert!((row.us - baseline.us - difference.value).abs() < 1e-6, "{row:?}");
        differences += 1;
    }
    assert!(differences > 6, "{differences}");
}

#[test]
fn a_servers_own_wait_events_are_told_by_littles_law_whether_or_not_threads_were_seen() {
    let truth = durable();
    let mut made = MadeUp::run(STUDY, [&truth, &truth, &truth], 40, 6);
    for waits in &mut made.looks.waits {
        let tls = u64::from(waits.slice.arm == "tls");
        *waits = Waits::unseen(waits.slice.clone());
        waits.events = Some(WaitEvents {
            rounds: 10,
            sessions: [("", 20), ("LWLock:WALWrite", 30 + 10 * tls), ("Lock:tuple", 0)]
                .map(|(event, sessions)| (event.to_owned(), sessions))
                .into(),
        });
    }
    let why = made.why();
    assert!(why.states.is_empty(), "no thread was seen");
    let of = |arm: &str, of_type: &str, event: Option<&str>| {
        let mut rows = why.wait_events.iter();
        let is_it =
            |row: &&StateRow| row.arm == arm && row.state == of_type && row.detail.as_deref() == event;
        rows.find(is_it).unwrap()
    };
    // Two of eight sessions run, three wait for the log.
    let (runs, waits) = (
        of("plain", "no wait event", None),
        of("plain", "LWLock", Some("WALWrite")),
    );
    let round_trip_us = truth.round_trip_us();
    let is_near = (runs.us / (round_trip_us * 2.0 / 8.0) - 1.0).abs() < 0.05;
    assert!(is_near, "{runs:?}");
    assert!((waits.us / runs.us - 1.5).abs() < 1e-9, "{waits:?}");
    let more = of("tls", "LWLock", Some("WALWrite")).difference.unwrap();
    let is_near = more.low > 0.0 && (more.value / waits.us - 1.0 / 3.0).abs() < 0.05;
    assert!(is_near, "{more:?}");
    // What nobody waits for has no row of its own.
    assert!(
        !why.wait_events
            .iter()
            .any(|row| row.detail.as_deref() == Some("tuple"))
    );
}
