//! Every workload through the engine against a real server: what a slice yields, and what makes it fail.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_engine::{Failure, SliceYield, Workload};
use ciphertax_lab::PrivateServer;
use ciphertax_model::TlsVersion::{self, V1_2, V1_3};
use ciphertax_model::record::Phase;
use ciphertax_wire::mysql::Expectation;
use ciphertax_workload::{Access, BulkRead, Connect, PointSelect};
use rustix::process::{Pid, Signal, kill_process};

use common::{access, administer, engine, opening, server, slice};

const ROWS: u32 = 50;
const TRANSPORTS: [Option<TlsVersion>; 3] = [None, Some(V1_2), Some(V1_3)];
const SLICE: Duration = Duration::from_millis(300);

#[test]
#[ignore = "the guard of the private servers in these tests"]
fn guard() {
    ciphertax_lab::guard::main();
}

#[test]
fn point_selects_differ_by_the_bytes_of_the_records_alone() {
    let server = server(ROWS);
    let [plain, older, newer] = yields(&server, |access| PointSelect { access, rows: ROWS });
    // A request: header 4, command 1, statement 4, cursor 1, iterations 4, NULLs 1, types known 1, value 8.
    assert_between(sent(&plain), 24.0, 26.0);
    assert_between(received(&plain), 130.0, 300.0);
    // A record adds 5 + 8 + 16 bytes in TLS 1.2 with AES-GCM, 5 + 1 + 16 in TLS 1.3; answers come in one or more.
    assert_between(sent(&older) - sent(&plain), 28.0, 30.0);
    assert_between(sent(&newer) - sent(&plain), 21.0, 23.0);
    for encrypted in [older, newer] {
        assert_between(received(&encrypted) - received(&plain), 20.0, 150.0);
    }
}

#[test]
fn bulk_reads_carry_a_mebibyte_each() {
    let server = server(ROWS);
    for yielded in yields(&server, |access| BulkRead { access }) {
        assert_between(received(&yielded), 1_048_576.0, 1.01 * 1_048_576.0);
        assert_between(sent(&yielded), 14.0, 60.0);
    }
}

#[test]
fn connects_are_traced_phase_by_phase_and_their_logins_counted() {
    let server = server(ROWS);
    let connects = yields(&server, |access| Connect { access, rows: ROWS });
    for (yielded, tls) in connects.iter().zip(TRANSPORTS) {
        let count = yielded.operations[0].count;
        let mut expected = Phase::ALL.to_vec();
        expected.retain(|phase| *phase != Phase::Setup && (tls.is_some() || *phase != Phase::Tls));
        assert_eq!(
            yielded.phases.iter().map(|phase| phase.phase).collect::<Vec<_>>(),
            expected
        );
        for phase in &yielded.phases {
            assert_eq!(phase.count, count);
            assert!(phase.wall_sum_ns > 0);
        }
        let sum =
            |of: fn(&ciphertax_model::record::PhaseSample) -> u64| yielded.phases.iter().map(of).sum::<u64>();
        assert_eq!(sum(|phase| phase.bytes_sent), yielded.bytes_sent);
        assert_eq!(sum(|phase| phase.bytes_received), yielded.bytes_received);
        assert!(sum(|phase| phase.wall_sum_ns) <= yielded.operations[0].latency_sum_ns);
        assert_eq!(
            yielded.logins.iter().collect::<Vec<_>>(),
            [(&"mysql_native_password/single".to_owned(), &count)]
        );
    }
    let [plain, older, newer] = &connects;
    assert_between(sent(plain), 100.0, 400.0);
    for encrypted in [older, newer] {
        assert!(sent(encrypted) > sent(plain) + 200.0);
        assert!(received(encrypted) > received(plain) + 800.0);
    }
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_slice_is_a_disconnect_and_no_hang() {
    for signal in [Signal::KILL, Signal::TERM] {
        killed(signal, |access| PointSelect { access, rows: ROWS });
        killed(signal, |access| BulkRead { access });
        killed(signal, |access| Connect { access, rows: ROWS });
    }
}

#[test]
fn a_table_that_was_changed_behind_our_back_is_an_error() {
    let server = server(ROWS);
    administer(
        &server,
        &[
            "DELETE FROM ciphertax.sbtest1 WHERE id = 7",
            "DELETE FROM ciphertax.bulk WHERE id = 7",
        ],
    );
    let access = || access(&server, None);
    for (yielded, told) in [
        (
            slice(
                PointSelect {
                    access: access(),
                    rows: ROWS,
                },
                SLICE,
            ),
            "id 7 has 0 rows",
        ),
        (
            slice(
                Connect {
                    access: access(),
                    rows: ROWS,
                },
                SLICE,
            ),
            "id 7 has 0 rows",
        ),
        (slice(BulkRead { access: access() }, SLICE), "15 rows"),
    ] {
        // Each of the two connections ends with its first failure.
        assert!((1..=2).contains(&yielded.failures), "{}", yielded.failures);
        match yielded.first_failure.unwrap() {
            Failure::Error(problem) => assert!(problem.contains(told), "{problem}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn sessions_that_are_not_what_their_arm_says_are_never_opened() {
    let server = server(ROWS);
    for real in TRANSPORTS {
        for said in TRANSPORTS.into_iter().filter(|said| *said != real) {
            let lie = || Access {
                expectation: Expectation {
                    tls: said,
                    cipher: None,
                },
                ..access(&server, real)
            };
            for outcome in [
                opening(PointSelect {
                    access: lie(),
                    rows: ROWS,
                }),
                opening(BulkRead { access: lie() }),
                opening(Connect {
                    access: lie(),
                    rows: ROWS,
                }),
            ] {
                assert!(
                    matches!(outcome, Err(Failure::FactsDiffer(_))),
                    "{real:?} as {said:?}: {outcome:?}"
                );
            }
        }
    }
}

#[test]
fn an_arm_that_lies_does_not_keep_the_others_from_being_measured() {
    let server = server(ROWS);
    let honest = access(&server, None);
    let lie = Access {
        expectation: honest.expectation.clone(),
        ..access(&server, Some(V1_3))
    };
    let mut engine = engine([lie, honest].map(|access| Connect { access, rows: ROWS }).into());
    assert!(matches!(engine.prepare(0).unwrap(), Err(Failure::FactsDiffer(_))));
    assert_eq!(engine.slice(0, SLICE).unwrap().operations[0].count, 0);
    engine.prepare(1).unwrap().unwrap();
    let yielded = engine.slice(1, SLICE).unwrap();
    assert!(yielded.operations[0].count > 0 && yielded.failures == 0);
}

/// A slice of each transport, interleaved in one engine as in a run; each without a failure.
fn yields<W: Workload>(server: &PrivateServer, workload: impl Fn(Access) -> W) -> [SliceYield; 3] {
    let arms = TRANSPORTS.map(|tls| workload(access(server, tls))).into();
    let mut engine = engine(arms);
    [0, 1, 2].map(|arm| {
        engine.prepare(arm).unwrap().unwrap();
        let yielded = engine.slice(arm, SLICE).unwrap();
        assert_eq!(
            (yielded.failures, yielded.unfinished),
            (0, 0),
            "{:?}",
            yielded.first_failure
        );
        assert_eq!(yielded.operations.len(), W::KINDS.len());
        assert_eq!(yielded.operations[0].kind, W::KINDS[0]);
        assert!(yielded.operations[0].count > 0 && yielded.client_cpu.total_ns > 0);
        assert!(yielded.duration >= SLICE && yielded.duration < SLICE + Duration::from_secs(5));
        let makes_connections = W::KINDS[0] == "connect";
        assert_eq!(!yielded.phases.is_empty(), makes_connections);
        assert_eq!(!yielded.logins.is_empty(), makes_connections);
        yielded
    })
}

/// Kills the server while a slice runs, and again asks for connections afterwards.
fn killed<W: Workload>(signal: Signal, workload: impl Fn(Access) -> W) {
    let server = server(ROWS);
    let pid = Pid::from_raw(server.pid() as i32).unwrap();
    let mut engine = engine(vec![workload(access(&server, Some(V1_3)))]);
    engine.prepare(0).unwrap().unwrap();
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(150));
        kill_process(pid, signal).unwrap();
    });
    let began = Instant::now();
    let yielded = engine.slice(0, Duration::from_secs(3)).unwrap();
    killer.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!((yielded.failures, yielded.unfinished), (2, 0));
    let failure = yielded.first_failure.unwrap();
    assert!(
        matches!(failure, Failure::Disconnected(_)),
        "{signal:?}: {failure:?}"
    );
    let outcome = engine.prepare(0).unwrap();
    assert!(matches!(outcome, Err(Failure::Disconnected(_))), "{outcome:?}");
}

fn sent(yielded: &SliceYield) -> f64 {
    yielded.bytes_sent as f64 / yielded.operations[0].count as f64
}

fn received(yielded: &SliceYield) -> f64 {
    yielded.bytes_received as f64 / yielded.operations[0].count as f64
}

fn assert_between(value: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&value),
        "{value} is not between {low} and {high}"
    );
}
