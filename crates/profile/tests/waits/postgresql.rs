//! PostgreSQL, whose sessions have a process each.

use std::time::Duration;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_testkit::fetched;

use crate::common::{Client, Looker, WAKE, assert_near, complete, of_sessions};

#[test]
fn backends_are_seen_idle_asleep_and_behind_a_row_lock() {
    let Some(_) = fetched(&POSTGRESQL) else { return };
    let server = PrivateServer::builder(&POSTGRESQL).start().unwrap();
    let clients: Vec<Client> = (0..7).map(|_| Client::postgresql(&server)).collect();
    clients[0].ask("CREATE TABLE waits (id INT PRIMARY KEY, v INT)");
    clients[0].ask("INSERT INTO waits VALUES (1, 0)");
    let mut looker = Looker::at(server.pids(), true);
    clients[0].ask("BEGIN");
    clients[0].ask("UPDATE waits SET v = 1");
    for client in &clients[1..5] {
        client.begin("UPDATE waits SET v = 2");
    }
    clients[5].begin("SELECT pg_sleep(600)");
    looker.await_idle(2);
    let waits = looker.look(Duration::from_secs(1));
    looker.print(&waits);
    let rounds = waits.rounds as f64;
    let waiters = looker.seen(&waits, false, &[], &["ProcSleep"])
        + looker.seen(&waits, false, &["semop", "futex"], &[]);
    assert_near(waiters, 4.0 * rounds, 0.02);
    assert_near(looker.seen(&waits, false, &[], &["pg_sleep"]), rounds, 0.02);
    assert_near(waits.idle, 2.0 * rounds, 0.02);
    assert_near(of_sessions(&waits), 7.0 * rounds, 0.02);
    assert!(complete(&waits) >= 0.99);
    clients[6].ask(WAKE);
    clients[0].ask("ROLLBACK");
    for client in &clients[1..6] {
        client.end();
    }
}
