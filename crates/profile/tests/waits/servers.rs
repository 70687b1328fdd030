//! Every kind of server: whose threads serve sessions.

use std::time::Duration;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::*;
use ciphertax_testkit::fetched;

use crate::common::{Client, Looker, WAKE, assert_near, complete, of_sessions};

/// Five sessions idle and one that waits for a lock, then fewer, whose threads the server keeps for later connections, and one that is new.
fn look_at(entry: &'static Entry) {
    let Some(_) = fetched(entry) else { return };
    println!("{entry}");
    let server = PrivateServer::builder(entry)
        .option("--thread-cache-size=20")
        .start()
        .unwrap();
    let mut looker = Looker::at(server.pids(), false);
    let mut clients: Vec<Client> = (0..6).map(|_| Client::mysql(&server)).collect();
    clients[4].ask("SELECT GET_LOCK('look', 0)");
    clients[5].begin("SELECT GET_LOCK('look', 600)");
    looker.await_idle(5);
    let waits = looker.look(Duration::from_millis(700));
    looker.print(&waits);
    let rounds = waits.rounds as f64;
    assert_near(waits.idle, 5.0 * rounds, 0.02);
    assert_near(of_sessions(&waits), 6.0 * rounds, 0.02);
    assert!(complete(&waits) >= 0.99);
    clients[4].ask("SELECT RELEASE_LOCK('look')");
    clients[5].end();
    clients.truncate(2);
    clients.push(Client::mysql(&server));
    looker.await_idle(3);
    let waits = looker.look(Duration::from_millis(500));
    looker.print(&waits);
    assert_eq!(waits.idle, 3 * waits.rounds);
    let found = of_sessions(&waits);
    assert_eq!(found, 3 * waits.rounds, "kept threads are no sessions");
    // Whoever looks for the first time knows no more than what is to be seen.
    let mut looker = Looker::at(server.pids(), false);
    let waits = looker.look(Duration::from_millis(300));
    let found = of_sessions(&waits);
    assert_eq!(found, 3 * waits.rounds, "kept threads are no sessions");
}

#[test]
fn mariadb_10_11() {
    look_at(&MARIADB);
}

#[test]
fn mysql() {
    look_at(&MYSQL);
}

#[test]
fn mongodb() {
    let Some(_) = fetched(&MONGODB) else { return };
    let server = PrivateServer::builder(&MONGODB).start().unwrap();
    let mut looker = Looker::at(server.pids(), false);
    let clients: Vec<Client> = (0..5).map(|_| Client::mongodb(&server)).collect();
    looker.await_idle(5);
    let waits = looker.look(Duration::from_millis(700));
    looker.print(&waits);
    assert_near(waits.idle, 5.0 * waits.rounds as f64, 0.02);
    assert_near(of_sessions(&waits), 5.0 * waits.rounds as f64, 0.02);
    drop(clients);
}

#[test]
fn postgresql_18() {
    let Some(_) = fetched(&POSTGRESQL_18) else { return };
    let server = PrivateServer::builder(&POSTGRESQL_18).start().unwrap();
    let mut looker = Looker::at(server.pids(), true);
    let clients: Vec<Client> = (0..5).map(|_| Client::postgresql(&server)).collect();
    clients[4].begin("SELECT pg_sleep(600)");
    looker.await_idle(4);
    let waits = looker.look(Duration::from_millis(700));
    looker.print(&waits);
    assert_near(waits.idle, 4.0 * waits.rounds as f64, 0.02);
    assert_near(of_sessions(&waits), 5.0 * waits.rounds as f64, 0.02);
    assert!(complete(&waits) >= 0.99);
    clients[0].ask(WAKE);
    clients[4].end();
}

mod test_all {
    use super::*;

    #[test]
    fn mariadb_10_2() {
        look_at(&MARIADB_10_2);
    }

    #[test]
    fn mariadb_11_8() {
        look_at(&MARIADB_11_8);
    }

    #[test]
    fn mysql_5_6() {
        look_at(&MYSQL_5_6);
    }
}
