//! MariaDB, whose sessions have a thread each.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;

use crate::common::*;

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
    clients[1].begin("SELECT SLEEP(600)");
    lock(&clients, &mut looker);
    let waits = looker.look_often();
    looker.print(&waits);
    let rounds = waits.rounds as f64;
    assert!(is_often(&waits), "{rounds}");
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

    clients[0].ask("UNLOCK TABLES");
    await_updates(&clients);
    // A busy machine may leave more time for looking in the one half than in the other.
    let is_as_long = (0..5).any(|_| {
        lock(&clients, &mut looker);
        is_seen_as_long_as_held(&clients, &mut looker)
    });
    assert!(is_as_long);
    let killer = Client::mysql(&server);
    killer.ask("BEGIN NOT ATOMIC FOR s IN (SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%') \
        DO KILL QUERY s.id; END FOR; END");
}

/// Locks a table and has five sessions wait for it.
fn lock(clients: &[Client], looker: &mut Looker) {
    clients[0].ask("LOCK TABLES waits.t WRITE");
    for client in &clients[2..7] {
        client.begin("UPDATE waits.t SET v = v + 1 WHERE id = 1");
    }
    looker.await_idle(2);
}

/// Waits until those are done.
fn await_updates(clients: &[Client]) {
    for client in &clients[2..7] {
        client.end();
    }
}

/// Unlocks in the midst of a slice; whether those that waited are seen so for their part of it.
fn is_seen_as_long_as_held(clients: &[Client], looker: &mut Looker) -> bool {
    looker.begin();
    let began = Instant::now();
    thread::sleep(Duration::from_millis(800));
    clients[0].ask("UNLOCK TABLES");
    let held = began.elapsed().as_secs_f64();
    thread::sleep(Duration::from_millis(700));
    let whole = began.elapsed().as_secs_f64();
    let waits = looker.end();
    await_updates(clients);
    assert_near(of_sessions(&waits), 8.0 * waits.rounds as f64, 0.02);
    let expected = 5.0 * waits.rounds as f64 * held / whole;
    is_near(looker.seen(&waits, false, &["futex"], &["MDL_"]), expected, 0.1)
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
    looker.await_idle(2);
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
    // The first holds a lock for as long as the others are to work.
    let clients: Vec<Client> = (0..9).map(|_| Client::mysql(&server)).collect();
    clients[0].ask("CREATE DATABASE waits");
    clients[0].ask("CREATE TABLE waits.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB");
    clients[0].ask(
        "CREATE PROCEDURE waits.fill() \
         BEGIN WHILE IS_USED_LOCK('fill') IS NOT NULL DO INSERT INTO waits.t (v) VALUES (1); END WHILE; END",
    );
    clients[0].ask("SELECT GET_LOCK('fill', 0)");
    for client in &clients[1..] {
        client.begin("CALL waits.fill()");
    }
    let mut looker = Looker::at(server.pids(), false);
    // On a busy machine sessions wait for a CPU above all, and the looking thread may come late, when they have had it.
    assert!((0..5).any(|_| are_seen_committing(&mut looker, server.pids()[0])));
}

/// Looks at nine sessions, of which eight commit; whether that is what they wait for, and as many run as by the kernel's account.
fn are_seen_committing(looker: &mut Looker, pid: u32) -> bool {
    looker.begin();
    let before = (CpuOfLooking::now(), cpu_and_delay(pid), Instant::now());
    thread::sleep(Duration::from_secs(2));
    let used = before.0.since() as f64;
    let (after, nanoseconds) = (cpu_and_delay(pid), before.2.elapsed().as_nanos() as f64);
    let waits = looker.end();
    looker.print(&waits);
    println!(
        "the looking thread used {:.2} % of a CPU",
        100.0 * used / nanoseconds
    );
    let rounds = waits.rounds as f64;
    let flush = ["fdatasync", "fsync", "pwrite64", "io_submit", "write"];
    let flushes = looker.seen(&waits, false, &flush, &[]) + looker.seen(&waits, true, &flush, &[]);
    let commits = looker.seen(&waits, false, &[], &["ha_commit"]);
    println!(
        "{flushes} flushes, {commits} commits, complete {}",
        complete(&waits)
    );
    assert!(flushes > 0);
    assert!(complete(&waits) >= 0.99);
    // Nine sessions, of which one is idle and unknown to us until it is seen so.
    assert_near(of_sessions(&waits), 9.0 * rounds, 0.02);
    // The kernel's account of the same: who does not run and does not wait for a CPU is blocked.
    let (ran, waited) = (after.0 - before.1.0, after.1 - before.1.1);
    let truth = (ran + waited) as f64 / nanoseconds;
    let running = (waits.running + waits.background_running) as f64 / rounds;
    println!("{running:.3} threads running by looks, {truth:.3} by the kernel's account");
    commits as f64 > rounds / 2.0 && (running - truth).abs() < 0.2 * truth
}
