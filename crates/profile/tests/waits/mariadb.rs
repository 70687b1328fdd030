//! MariaDB, whose sessions have a thread each.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;

use crate::common::{Client, HZ, Looker, assert_near, complete, cpu_and_delay, cpu_of_looking, of_sessions};

/// Until those who were asked to wait do.
const SETTLE: Duration = Duration::from_millis(300);

fn server() -> PrivateServer {
    let server = PrivateServer::builder(&MARIADB).start().unwrap();
    let client = Client::mysql(&server);
    client.ask("CREATE DATABASE waits");
    client.ask("CREATE TABLE waits.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB");
    client.ask("INSERT INTO waits.t VALUES (1, 0), (2, 0), (3, 0)");
    server
}

#[test]
fn sessions_are_seen_idle_asleep_and_behind_a_table_lock_for_as_long_as_they_are() {
    let server = server();
    let clients: Vec<Client> = (0..8).map(|_| Client::mysql(&server)).collect();
    let mut looker = Looker::at(server.pids(), false);
    looker.look(Duration::from_millis(100));
    clients[0].ask("LOCK TABLES waits.t WRITE");
    clients[1].begin("SELECT SLEEP(20)");
    for client in &clients[2..7] {
        client.begin("UPDATE waits.t SET v = v + 1 WHERE id = 1");
    }
    thread::sleep(SETTLE);
    let waits = looker.look(Duration::from_secs(1));
    looker.print(&waits);
    let rounds = waits.rounds as f64;
    assert!(rounds > f64::from(HZ) / 4.0);
    assert_near(waits.idle, 2.0 * rounds, 0.02);
    assert_near(
        looker.seen(&waits, false, &["futex"], &["MDL_"]),
        5.0 * rounds,
        0.02,
    );
    assert_near(
        looker.seen(&waits, false, &["futex"], &["Item_func_sleep"]),
        rounds,
        0.02,
    );
    assert_near(of_sessions(&waits), 8.0 * rounds, 0.02);
    assert!(complete(&waits) >= 0.99);

    // The lock goes in the midst of the slice.
    let began = Instant::now();
    looker.begin();
    thread::sleep(Duration::from_millis(800));
    clients[0].ask("UNLOCK TABLES");
    let held = began.elapsed().as_secs_f64();
    thread::sleep(Duration::from_millis(700));
    let whole = began.elapsed().as_secs_f64();
    let waits = looker.end();
    let expected = 5.0 * waits.rounds as f64 * held / whole;
    assert_near(looker.seen(&waits, false, &["futex"], &["MDL_"]), expected, 0.1);
    assert_near(of_sessions(&waits), 8.0 * waits.rounds as f64, 0.02);
    let killer = Client::mysql(&server);
    killer.ask("BEGIN NOT ATOMIC FOR s IN (SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%') \
        DO KILL QUERY s.id; END FOR; END");
}

#[test]
fn sessions_behind_a_row_lock_wait_in_the_handler_of_their_statement() {
    let server = server();
    let clients: Vec<Client> = (0..6).map(|_| Client::mysql(&server)).collect();
    let mut looker = Looker::at(server.pids(), false);
    looker.look(Duration::from_millis(100));
    clients[0].ask("BEGIN");
    clients[0].ask("UPDATE waits.t SET v = 1 WHERE id = 1");
    for client in &clients[1..5] {
        client.begin("UPDATE waits.t SET v = 2 WHERE id = 1");
    }
    thread::sleep(SETTLE);
    let waits = looker.look(Duration::from_secs(1));
    looker.print(&waits);
    let rounds = waits.rounds as f64;
    assert_near(
        looker.seen(&waits, false, &["futex"], &["mysql_update", "handler::"]),
        4.0 * rounds,
        0.02,
    );
    assert_near(waits.idle, 2.0 * rounds, 0.02);
    assert!(complete(&waits) >= 0.99);
    clients[0].ask("ROLLBACK");
    for client in &clients[1..5] {
        client.end();
    }
}

#[test]
fn durable_commits_are_seen_waiting_for_the_log() {
    let server = PrivateServer::builder(&MARIADB)
        .option("--innodb-flush-log-at-trx-commit=1")
        .start()
        .unwrap();
    let client = Client::mysql(&server);
    client.ask("CREATE DATABASE waits");
    client.ask("CREATE TABLE waits.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB");
    client.ask(
        "CREATE PROCEDURE waits.fill() BEGIN DECLARE e DATETIME(6) DEFAULT SYSDATE(6) + INTERVAL 3 SECOND; \
         WHILE SYSDATE(6) < e DO INSERT INTO waits.t (v) VALUES (1); END WHILE; END",
    );
    let clients: Vec<Client> = (0..8).map(|_| Client::mysql(&server)).collect();
    for client in &clients {
        client.begin("CALL waits.fill()");
    }
    let mut looker = Looker::at(server.pids(), false);
    looker.begin();
    let read = || {
        (
            cpu_of_looking(),
            cpu_and_delay(server.pids()[0], |_| true),
            Instant::now(),
        )
    };
    let before = read();
    thread::sleep(Duration::from_secs(2));
    let after = read();
    let waits = looker.end();
    looker.print(&waits);
    let nanoseconds = (after.2 - before.2).as_nanos() as f64;
    let used = (after.0 - before.0) as f64 / nanoseconds;
    println!("the looking thread used {:.2} % of a CPU", 100.0 * used);
    let rounds = waits.rounds as f64;
    // The kernel's account of the same: who does not run and does not wait for a CPU is blocked.
    let (ran, waited) = (after.1.0 - before.1.0, after.1.1 - before.1.1);
    let truth = (ran + waited) as f64 / nanoseconds;
    let running = (waits.running + waits.background_running) as f64 / rounds;
    println!("{running:.3} threads running by looks, {truth:.3} by the kernel's account");
    assert!((running - truth).abs() < 0.2 * truth, "{running}, not {truth}");
    let flush = ["fdatasync", "fsync", "pwrite64", "io_submit", "write"];
    let flushes = looker.seen(&waits, false, &flush, &[]) + looker.seen(&waits, true, &flush, &[]);
    let commits = looker.seen(&waits, false, &[], &["ha_commit"]);
    println!(
        "{flushes} flushes, {commits} commits, complete {}",
        complete(&waits)
    );
    assert!(flushes > 0);
    assert!(commits as f64 > rounds / 2.0, "{commits} of {rounds}");
    assert!(complete(&waits) >= 0.99);
    // Nine sessions, of which one is idle and unknown to us until it is seen so.
    assert_near(of_sessions(&waits), 9.0 * rounds, 0.02);
}
