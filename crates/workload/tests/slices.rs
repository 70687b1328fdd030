//! Every workload through the engine against a real server: what a slice yields, and what makes it fail.

use ciphertax_engine::Workload;
use ciphertax_model::TlsVersion::{V1_2, V1_3};
use ciphertax_records::PhaseSample;
use ciphertax_wire::mysql::Expectation;
use ciphertax_workload::sql::{BulkRead, InsertAndCount, PointSelect, SelectRow};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::*;

const ROWS: u32 = 50;
const TRANSPORTS: [Option<TlsVersion>; 3] = [None, Some(V1_2), Some(V1_3)];
const SLICE: Duration = Duration::from_millis(300);
const AN_HOUR: Duration = Duration::from_secs(3600);

#[test]
fn point_selects_differ_by_the_bytes_of_the_records_alone() {
    let server = server(ROWS);
    let [plain, older, newer] = yields(&server, point_select);
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
    let connects = yields(&server, connect);
    for (yielded, tls) in connects.iter().zip(TRANSPORTS) {
        let count = yielded.operations[0].count;
        let mut expected = vec![Phase::Resolve, Phase::Tcp, Phase::Preface];
        expected.extend(tls.map(|_| Phase::Tls));
        expected.extend([Phase::Auth, Phase::FirstOperation, Phase::Close]);
        let found = yielded.phases.iter().map(|phase| phase.phase).collect::<Vec<_>>();
        assert_eq!(found, expected);
        for phase in &yielded.phases {
            assert_eq!(phase.count, count);
            assert!(phase.wall_sum_ns > 0);
        }
        let sum = |of: fn(&PhaseSample) -> u64| yielded.phases.iter().map(of).sum::<u64>();
        assert_eq!(sum(|phase| phase.bytes_sent), yielded.bytes_sent);
        assert_eq!(sum(|phase| phase.bytes_received), yielded.bytes_received);
        assert!(sum(|phase| phase.wall_sum_ns) <= yielded.operations[0].latency_sum_ns);
        let logins = yielded
            .logins
            .iter()
            .map(|(login, count)| (login.to_string(), *count));
        let logins = logins.collect::<Vec<_>>();
        assert_eq!(logins, [("mysql_native_password/single".to_owned(), count)]);
    }
    let [plain, older, newer] = &connects;
    assert_between(sent(plain), 100.0, 400.0);
    for encrypted in [older, newer] {
        assert!(sent(encrypted) > sent(plain) + 200.0);
        assert!(received(encrypted) > received(plain) + 800.0);
    }
}

#[test]
fn short_connections_insert_and_count_a_row_or_do_nothing() {
    let server = server(ROWS);
    let with = |access| Connect {
        access,
        task: Nothing,
    };
    for yielded in yields(&server, with) {
        assert_eq!(yielded.queries, 0);
        let first = |phase: &PhaseSample| phase.phase == Phase::FirstOperation;
        assert!(!yielded.phases.iter().any(first), "nothing was asked");
    }
    let with = |access| Connect {
        access,
        task: InsertAndCount,
    };
    for yielded in yields(&server, with) {
        let count = yielded.operations[0].count;
        assert_eq!(yielded.queries, 2 * count);
        let phase = |phase: &&PhaseSample| phase.phase == Phase::FirstOperation;
        assert_eq!(yielded.phases.iter().find(phase).unwrap().count, count);
    }
    let slice = slice(with(access(&server, None)), SLICE);
    let rows = administer(&server, &["SELECT COUNT(*) FROM ciphertax.connect_insert_count"]);
    assert_eq!(
        rows[0],
        slice.operations[0].count.to_string(),
        "the table was not emptied"
    );
}

#[test]
fn connections_end_with_their_slice_after_goodbye_and_by_the_servers_close() {
    const ESTABLISHED: &str = "01";
    const TIME_WAIT: &str = "06";
    const SESSIONS: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE command <> 'Daemon'";
    let server = server(ROWS);
    let port = server.address().port();
    let lingering = || sockets_to(port).filter(|(state, _)| state == TIME_WAIT).count();
    with_session(&server, async |control| {
        // Of one that ended before the server hears late where a process that is being started has a copy of its socket.
        while control.query(SESSIONS).await.unwrap()[0].text(0) != "1" {}
        for tls in TRANSPORTS {
            let mut engine = engine(vec![connect(access(&server, tls))]);
            engine.prepare(0).unwrap().unwrap();
            control.query("FLUSH STATUS").await.unwrap();
            let aborted = status(control, "Aborted_clients").await;
            let before = lingering();
            let yielded = engine.slice(0, SLICE).unwrap();
            assert_eq!((yielded.failures, yielded.unfinished), (0, 0));
            // Nothing is open but the control session, and no port is kept occupied.
            assert_eq!(own_sockets_to(port), [ESTABLISHED]);
            assert!(lingering() <= before);
            assert_eq!(status(control, "Aborted_clients").await, aborted);
            // Of each of the two slots one connection at most is still open when the next is opened, and one has just been
            // closed that the server still counts.
            let most = status(control, "Max_used_connections").await;
            assert!((2..=1 + 2 * 3).contains(&most), "{most}");
        }
    });
}

/// This machine's sockets that are connected to a local port: state and inode (`/proc/net/tcp`).
fn sockets_to(port: u16) -> impl Iterator<Item = (String, String)> {
    let remote = format!(":{port:04X}");
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let of_line = move |line: &str| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let is_there = columns[2].ends_with(&remote);
        is_there.then(|| (columns[3].to_owned(), columns[9].to_owned()))
    };
    table.lines().filter_map(of_line).collect::<Vec<_>>().into_iter()
}

/// The states of those that this process has open.
fn own_sockets_to(port: u16) -> Vec<String> {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let links = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let open: Vec<_> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let own = sockets_to(port).filter(|(_, inode)| open.contains(&format!("socket:[{inode}]")));
    own.map(|(state, _)| state).collect()
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_slice_is_a_disconnect_and_no_hang() {
    for signal in [Signal::KILL, Signal::TERM] {
        killed(signal, point_select);
        killed(signal, |access| BulkRead { access });
        killed(signal, connect);
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
            slice(point_select(access()), SLICE),
            "1 rows from id 7 on have 0 rows",
        ),
        (slice(connect(access()), SLICE), "1 rows from id 7 on have 0 rows"),
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
            let lie = || MysqlAccess {
                expectation: Expectation::new(transport(said)),
                ..access(&server, real)
            };
            for outcome in [
                opening(point_select(lie())),
                opening(BulkRead { access: lie() }),
                opening(connect(lie())),
            ] {
                let is_found_out = matches!(outcome, Err(Failure::FactsDiffer(_)));
                assert!(is_found_out, "{real:?} as {said:?}: {outcome:?}");
            }
        }
    }
}

#[test]
fn an_arm_that_lies_does_not_keep_the_others_from_being_measured() {
    let server = server(ROWS);
    let honest = access(&server, None);
    let lie = MysqlAccess {
        expectation: honest.expectation.clone(),
        ..access(&server, Some(V1_3))
    };
    let mut engine = engine([lie, honest].map(connect).into());
    assert!(matches!(engine.prepare(0).unwrap(), Err(Failure::FactsDiffer(_))));
    assert_eq!(engine.slice(0, SLICE).unwrap().operations[0].count, 0);
    engine.prepare(1).unwrap().unwrap();
    let yielded = engine.slice(1, SLICE).unwrap();
    assert!(yielded.operations[0].count > 0 && yielded.failures == 0);
}

fn point_select(access: MysqlAccess) -> PointSelect<MysqlAccess> {
    PointSelect {
        access,
        tables: tables(1, ROWS),
    }
}

fn connect(access: MysqlAccess) -> Connect<MysqlAccess, SelectRow> {
    Connect {
        access,
        task: SelectRow(tables(1, ROWS)),
    }
}

/// A slice of each transport, interleaved in one engine as in a run; each without a failure.
fn yields<W: Workload>(server: &PrivateServer, workload: impl Fn(MysqlAccess) -> W) -> [SliceYield; 3] {
    let arms = TRANSPORTS.map(|tls| workload(access(server, tls))).into();
    let mut engine = engine(arms);
    [0, 1, 2].map(|arm| {
        engine.prepare(arm).unwrap().unwrap();
        let yielded = engine.slice(arm, SLICE).unwrap();
        let found = (yielded.failures, yielded.unfinished);
        assert_eq!(found, (0, 0), "{:?}", yielded.first_failure);
        assert_eq!(yielded.operations.len(), W::KINDS.len());
        assert_eq!(yielded.operations[0].kind, W::KINDS[0]);
        assert!(yielded.operations[0].count > 0 && yielded.client_cpu.total_ns > 0);
        assert!(Duration::from_nanos(yielded.duration_ns) >= SLICE);
        let makes_connections = W::KINDS[0] == "connect";
        assert_eq!(!yielded.phases.is_empty(), makes_connections);
        assert_eq!(!yielded.logins.is_empty(), makes_connections);
        yielded
    })
}

/// Kills the server while a slice runs, and again asks for connections afterwards.
fn killed<W: Workload>(signal: Signal, workload: impl Fn(MysqlAccess) -> W) {
    let server = PrivateServer::builder(&MARIADB).start().unwrap();
    prepare(&server, &tables(1, ROWS).dataset).unwrap();
    let pid = Pid::from_raw(server.pids()[0] as i32).unwrap();
    let mut engine = engine(vec![workload(access(&server, Some(V1_3)))]);
    engine.prepare(0).unwrap().unwrap();
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(150));
        kill_process(pid, signal).unwrap();
    });
    // It ends when both connections have failed.
    let yielded = engine.slice(0, AN_HOUR).unwrap();
    killer.join().unwrap();
    assert!(Duration::from_nanos(yielded.duration_ns) < AN_HOUR);
    assert_eq!((yielded.failures, yielded.unfinished), (2, 0));
    let failure = yielded.first_failure.unwrap();
    let is_gone = matches!(failure, Failure::Disconnected(_));
    assert!(is_gone, "{signal:?}: {failure:?}");
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
    let is_between = (low..=high).contains(&value);
    assert!(is_between, "{value} is not between {low} and {high}");
}
