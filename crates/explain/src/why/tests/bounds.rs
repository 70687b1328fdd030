//! What bounds an arm.

use ciphertax_base::Interval;
use ciphertax_model::Metric;
use ciphertax_records::why::{Bound, BoundRow};
use ciphertax_records::{EstimateRow, Results};
use ciphertax_stats::{LogRatio, Rule, Verdict};

use super::made_up::{ARMS, MadeUp, STUDY, Truth};
use super::states::durable;

/// As short as a run of two minutes has them: six blocks are looked into.
const BLOCKS: u32 = 26;
const RUNS: u64 = 100;

fn in_memory() -> Truth {
    Truth {
        server: vec![("SQL", 14.0), ("parse", 4.0), ("network", 8.0)],
        client_us: 12.0,
        runnable_us: 100.0,
        network_us: 30.0,
        idle: 0.03,
        ..Truth::default()
    }
}

fn spinning() -> Truth {
    in_memory().with("spinning", 12.0)
}

fn client_full() -> Truth {
    Truth {
        client_us: 38.0,
        runnable_us: 20.0,
        network_us: 114.0,
        ..in_memory()
    }
}

fn reads() -> Truth {
    Truth {
        waits: vec![("pread64", &["os_file_read_page", "buf_read_page"], 190.0)],
        runnable_us: 50.0,
        network_us: 90.0,
        idle: 0.3,
        ..in_memory()
    }
}

/// As an insert on nodes that are apart from each other is.
fn of_nodes() -> Truth {
    let certified = &["pthread_cond_wait", "certify_commit", "ha_commit_trans"];
    Truth {
        waits: vec![
            ("futex", certified, 2_000.0),
            ("fdatasync", &["log_write_up_to"], 100.0),
        ],
        runnable_us: 50.0,
        network_us: 90.0,
        idle: 0.6,
        ..in_memory()
    }
}

const AHI: &[&str] = &["rw_lock_x_lock_func", "btr_search_update_hash_on_insert"];

fn latch() -> Truth {
    Truth {
        waits: vec![("futex", AHI, 150.0), ("fdatasync", &["log_write_up_to"], 40.0)],
        runnable_us: 60.0,
        network_us: 90.0,
        idle: 0.3,
        ..in_memory()
    }
}

fn far_away() -> Truth {
    Truth {
        runnable_us: 5.0,
        network_us: 1_000.0,
        idle: 0.7,
        ..in_memory()
    }
}

/// As an insert on a slow disk by few connections may be.
fn of_everything() -> Truth {
    Truth {
        waits: vec![
            ("fdatasync", &["log_write_up_to"], 60.0),
            ("pread64", &["buf_read_page"], 60.0),
            ("futex", AHI, 30.0),
        ],
        runnable_us: 60.0,
        network_us: 100.0,
        idle: 0.3,
        ..in_memory()
    }
}

/// Of how many arms in all runs each bound is said.
fn said(study: &str, truth: &Truth, is_right: impl Fn(&BoundRow) -> bool) -> u32 {
    let tls = truth.clone().with("record", 3.0);
    let runs = (0..RUNS).map(|seed| MadeUp::run(study, [truth, truth, &tls], BLOCKS, seed).why());
    runs.map(|why| {
        assert_eq!(why.bounds.len(), ARMS.len());
        u32::from(why.bounds.iter().all(&is_right))
    })
    .sum()
}

#[test]
fn short_runs_name_the_bound_that_is_there() {
    let cases = [
        (in_memory(), Bound::ServerCpu, Some("SQL")),
        (spinning(), Bound::Spinning, None),
        (client_full(), Bound::ClientCpu, None),
        (durable(), Bound::LogFlush, None),
        (of_nodes(), Bound::Replication, Some("certification by Galera")),
        (reads(), Bound::DeviceReads, Some("pages")),
        (latch(), Bound::Lock, Some("AHI latch")),
        (far_away(), Bound::RoundTrips, None),
        (of_everything(), Bound::Mixed, None),
    ];
    for (truth, bound, of) in cases {
        let right = said(STUDY, &truth, |row| {
            row.bound == bound
                && of.is_none_or(|of| row.of.as_deref() == Some(of))
                && !row.evidence.is_empty()
        });
        assert!(right >= 95, "{bound:?}: {right} of {RUNS}");
    }
}

#[test]
fn who_waits_for_a_client_that_may_be_full_does_not_wait_for_the_way() {
    let nearly_full = Truth {
        client_us: 34.3,
        idle: 0.2,
        ..client_full()
    };
    let wrong = said(STUDY, &nearly_full, |row| row.bound == Bound::RoundTrips);
    assert!(wrong <= 5, "{wrong}");
}

#[test]
fn an_open_loop_is_bound_by_its_schedule() {
    let study = STUDY.replace("connections = 8", "connections = 8, rate = 500");
    let right = said(&study, &far_away(), |row| row.bound == Bound::Schedule);
    assert!(right >= 95, "{right}");
}

#[test]
fn in_memory_nothing_but_the_cpu_or_a_mixture_is_named() {
    // The client takes much of the CPUs that it shares with the server.
    let shared = Truth {
        client_us: 20.0,
        runnable_us: 60.0,
        network_us: 90.0,
        ..in_memory()
    };
    for truth in [in_memory(), shared] {
        let right = said(STUDY, &truth, |row| {
            matches!(row.bound, Bound::ServerCpu | Bound::Mixed)
        });
        assert!(right >= 95, "{right}");
    }
}

#[test]
fn another_program_that_takes_the_cpus_is_named_and_one_that_takes_few_of_them_is_not() {
    for (others, bound) in [(0.4, Bound::OtherPrograms), (0.1, Bound::ServerCpu)] {
        let truth = Truth {
            others,
            runnable_us: 300.0,
            ..in_memory()
        };
        let right = said(STUDY, &truth, |row| row.bound == bound);
        assert!(right >= 95, "{others}: {right}");
    }
}

#[test]
fn while_cpus_are_full_those_who_wait_for_a_lock_are_a_remark() {
    let truth = Truth {
        waits: vec![("futex", AHI, 60.0)],
        ..in_memory()
    };
    let why = MadeUp::run(STUDY, [&truth, &truth, &truth], 61, 1).why();
    let row = why.bound("select", "plain").unwrap();
    assert_eq!((row.bound, row.of.as_deref()), (Bound::ServerCpu, Some("SQL")));
    let remark = row.evidence.last().unwrap();
    assert!(
        remark.contains("AHI latch") && remark.contains("not the bottleneck"),
        "{remark}"
    );
}

#[test]
fn what_is_spun_for_is_named() {
    let mut made = MadeUp::run(STUDY, [&spinning(), &spinning(), &spinning()], 61, 1);
    // The lock is told by who takes it.
    let symbols = &mut made.looks.symbols;
    let before = super::made_up::stack(symbols, &["spinning"]);
    let stack = super::made_up::stack(
        symbols,
        &[
            "spinning",
            "rw_lock_x_lock_func",
            "btr_search_update_hash_on_insert",
        ],
    );
    for side in made
        .looks
        .profiles
        .iter_mut()
        .flat_map(|profile| profile.sides.values_mut())
    {
        let count = side.stacks.remove(&before).unwrap();
        side.stacks.insert(stack, count);
    }
    let why = made.why();
    let row = why.bound("select", "plain").unwrap();
    let found = (row.bound, row.of.as_deref());
    assert_eq!(found, (Bound::Spinning, Some("AHI latch")));
}

#[test]
fn with_fewer_than_five_looks_nothing_is_said_to_be_the_bound() {
    let truth = durable();
    let why = MadeUp::run(STUDY, [&truth, &truth, &truth], 18, 1).why();
    assert!(why.bounds.is_empty() && !why.states.is_empty());
}

/// What a run estimates of the arm `tls`: a speed and a CPU time.
fn estimates(speed: Verdict, cpu: Verdict) -> Results {
    let row = |metric: Metric, verdict, baseline: f64, variant: f64| {
        let change = variant / baseline - 1.0;
        EstimateRow {
            cell: "select".into(),
            arm: "tls".into(),
            metric,
            unit: metric.unit().to_owned(),
            baseline,
            variant,
            change,
            low: change - 0.01,
            high: change + 0.01,
            difference: Interval {
                value: variant - baseline,
                low: variant - baseline - 1.0,
                high: variant - baseline + 1.0,
            },
            blocks: 20,
            verdict,
            rule: Rule::IntervalTooWide,
            floor: Some(0.01),
            margin: 0.06,
            adjusted_p_value: 0.0,
            more_time_s: None,
            log_ratio: LogRatio {
                mean: change.ln_1p(),
                standard_error: 0.005,
                degrees_of_freedom: 19.0,
            },
            location: None,
            disturbed: None,
        }
    };
    Results {
        estimates: vec![
            row(Metric::Throughput, speed, 4_300.0, 4_270.0),
            row(Metric::ServerCpuPerOp, cpu, 78.0, 91.0),
        ],
        ..Results::default()
    }
}

#[test]
fn what_hides_behind_a_bound_is_said_only_where_the_estimates_say_so_too() {
    let truth = durable();
    let tls = truth.clone().with("record", 13.0);
    let made = MadeUp::run(STUDY, [&truth, &truth, &tls], 61, 1);
    let follows = |results: Results| {
        let why = made.why_beside(&results);
        assert!(why.bounds[..2].iter().all(|row| row.follows.is_none()));
        why.bounds[2].follows.clone()
    };
    let hidden = follows(estimates(Verdict::NoCost, Verdict::Costs)).unwrap();
    let beginning = "tls does not slow down operations: the log's flush (group commit) takes ";
    assert!(hidden.starts_with(beginning), "{hidden}");
    let ending = " %) and hides tls's 13 µs of server CPU.";
    assert!(hidden.ends_with(ending), "{hidden}");
    let none = follows(estimates(Verdict::NoCost, Verdict::NoCost)).unwrap();
    assert!(
        none.ends_with("; tls takes at most 6.0 % more server CPU."),
        "{none}"
    );
    assert_eq!(follows(estimates(Verdict::CannotTell, Verdict::Costs)), None);
    assert_eq!(follows(estimates(Verdict::Costs, Verdict::Costs)), None);
    assert_eq!(follows(Results::default()), None);
}

#[test]
fn where_cpus_are_full_what_an_arm_takes_shows_in_full() {
    let truth = in_memory();
    let tls = truth.clone().with("record", 5.0);
    let why = MadeUp::run(STUDY, [&truth, &truth, &tls], 61, 1)
        .why_beside(&estimates(Verdict::Costs, Verdict::Costs));
    let follows = why.bounds[2].follows.as_deref().unwrap();
    let expected = "tls shows in full (throughput −0.7 % [−1.7, 0.3]): the server's CPU is the bottleneck.";
    assert_eq!(follows, expected);
}
