//! What servers count of commits, flushes and locks, held against what they were made to do.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::counter::{
    self, COMMITS, FILE_FLUSHES, LOCK_WAIT_US, LOCK_WAITS, LOG_FLUSHES, LOG_WRITES,
};
use ciphertax_testkit as testkit;
use ciphertax_wire::mongodb::bson::{RawDocument, rawdoc};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, mongodb, mysql};

use crate::footprint::real_servers::{lies_between, rise, server};
use crate::mongodb::MongoDb;
use crate::mysql::MySql;
use crate::postgresql::{ASKED, PostgreSql};
use crate::server::{GroupServer, Server};

const MEMORY_MB: u32 = 64;
/// Commits, one after another.
const TRANSACTIONS: i64 = 100;
/// What a server does by itself meanwhile, and to tell what it counted.
const OF_ITS_OWN: i64 = 50;
/// How long a lock is held that another waits for.
const HELD: Duration = Duration::from_millis(400);
/// How often it is looked whether another waits.
const ASK_AGAIN: Duration = Duration::from_millis(10);

fn commits(rose: &BTreeMap<String, i64>) -> i64 {
    counter::commits(rose).unwrap() as i64
}

#[track_caller]
fn are_there(counters: &BTreeMap<String, i64>, names: &[&str]) {
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !counters.contains_key(**name))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {counters:?}");
}

/// What a wait for a lock must have been, by who waited so long for an answer.
#[track_caller]
fn waited_once(rose: &BTreeMap<String, i64>, waited: Duration) {
    lies_between("waits for a lock", rose[LOCK_WAITS], 1, 2);
    let (held, waited) = (HELD.as_micros() as i64, waited.as_micros() as i64);
    lies_between("microseconds", rose[LOCK_WAIT_US], held / 2, waited + 2_000);
    let mean = counter::mean_lock_wait_us(rose).unwrap();
    assert!(mean >= (held / 4) as f64, "{mean}");
}

/// Waits for a lock that another session takes, and gives back when it was waited for `HELD` long.
fn wait_for_lock<O: Send + 'static>(
    options: O,
    hold: impl FnOnce(&O, Sender<()>) + Send + 'static,
    wait: impl FnOnce(),
) -> Duration {
    let (taken, is_taken): (_, Receiver<()>) = channel();
    let holder = thread::spawn(move || hold(&options, taken));
    is_taken.recv_timeout(testkit::PATIENCE).unwrap();
    let began = Instant::now();
    wait();
    let waited = began.elapsed();
    holder.join().unwrap();
    waited
}

/// `counts` are those that not every server of the family has.
fn innodb_counts_commits_and_locks(name: &str, counts: &[&str]) {
    let Some(mut server) = server::<MySql>(name, MEMORY_MB) else {
        return;
    };
    let run = |server: &mut GroupServer<MySql>, sql: &str| {
        drop(
            server
                .control
                .ask(async |session| session.query(sql).await)
                .unwrap(),
        );
    };
    run(&mut server, "CREATE SCHEMA ciphertax");
    run(
        &mut server,
        "CREATE TABLE ciphertax.t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE = InnoDB",
    );
    run(&mut server, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    let all = server.counters().unwrap();
    let of_all = [
        "Connections",
        "Handler_read_key",
        "Innodb_buffer_pool_wait_free",
        "Questions",
        "Uptime",
        counter::EXPLICIT_COMMITS,
        counter::STATEMENT_COMMITS,
        FILE_FLUSHES,
        LOCK_WAITS,
        LOCK_WAIT_US,
        LOG_WRITES,
        counter::LOG_BYTES,
        counter::LOG_WAITS,
        counter::PAGES_READ,
        counter::PAGES_REQUESTED,
        counter::PAGES_WRITTEN,
    ];
    are_there(&all, &of_all);
    are_there(&all, counts);

    let rose = rise(&mut server, |server| {
        for id in 0..TRANSACTIONS {
            run(server, &format!("INSERT INTO ciphertax.t VALUES ({id}, 0)"));
        }
    });
    lies_between("commits", commits(&rose), TRANSACTIONS, TRANSACTIONS + OF_ITS_OWN);
    lies_between(
        "log writes",
        rose[LOG_WRITES],
        TRANSACTIONS,
        3 * TRANSACTIONS + OF_ITS_OWN,
    );
    let flushes = rose.get(LOG_FLUSHES).copied().unwrap_or(rose[FILE_FLUSHES]);
    lies_between("flushes", flushes, TRANSACTIONS, 3 * TRANSACTIONS + OF_ITS_OWN);
    // Nobody commits beside it.
    let each = counter::commits_per_flush(&rose).unwrap();
    assert!((0.3..1.2).contains(&each), "{each} {rose:?}");

    let several = rise(&mut server, |server| {
        for _ in 0..10 {
            run(server, "BEGIN");
            for id in 0..5 {
                run(
                    server,
                    &format!("UPDATE ciphertax.t SET n = n + 1 WHERE id = {id}"),
                );
            }
            run(server, "COMMIT");
        }
    });
    // Whatever was done in between: one flush for each.
    assert_eq!(counter::commits(&several), Some(10.0));
    let each = counter::commits_per_flush(&several).unwrap();
    assert!((0.3..1.2).contains(&each), "{each} {several:?}");

    run(&mut server, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    let lazy = rise(&mut server, |server| {
        for id in 0..TRANSACTIONS {
            run(
                server,
                &format!("UPDATE ciphertax.t SET n = n + 1 WHERE id = {id}"),
            );
        }
    });
    let flushes = lazy.get(LOG_FLUSHES).copied().unwrap_or(lazy[FILE_FLUSHES]);
    lies_between("flushes once a second", flushes, 0, TRANSACTIONS / 2);
    lies_between("commits", commits(&lazy), TRANSACTIONS, TRANSACTIONS + OF_ITS_OWN);

    let options = server.control.ways[0].clone();
    let mut waited = Duration::ZERO;
    let locked = rise(&mut server, |server| {
        let hold = |options: &_, taken: Sender<()>| {
            testkit::run(async |reactor| {
                let (mut session, _) = mysql::Session::connect(reactor, options).await.unwrap();
                session.query("BEGIN").await.unwrap();
                session
                    .query("UPDATE ciphertax.t SET n = 0 WHERE id = 1")
                    .await
                    .unwrap();
                taken.send(()).unwrap();
                let waiting = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
                while session.query(waiting).await.unwrap()[0].text(1) == "0" {
                    reactor.sleep_until(Instant::now() + ASK_AGAIN).await;
                }
                reactor.sleep_until(Instant::now() + HELD).await;
                session.query("COMMIT").await.unwrap();
            });
        };
        let wait = || run(server, "UPDATE ciphertax.t SET n = 1 WHERE id = 1");
        waited = wait_for_lock(options, hold, wait);
    });
    waited_once(&locked, waited);
    server.close().unwrap();
}

#[test]
fn mariadb_counts_commits_flushes_and_waits_for_locks() {
    let counts = [
        counter::BINLOG_COMMITS,
        counter::BINLOG_GROUPS,
        counter::PAGES_EVICTED,
        "Innodb_adaptive_hash_hash_searches",
        "Innodb_adaptive_hash_non_hash_searches",
        "Ssl_accepts",
    ];
    innodb_counts_commits_and_locks("mariadb", &counts);
}

#[test]
fn mysql_counts_commits_flushes_and_waits_for_locks() {
    innodb_counts_commits_and_locks("mysql", &[LOG_FLUSHES]);
}

fn postgresql_counts_commits(name: &str, counts: &[&str]) {
    let Some(mut server) = server::<PostgreSql>(name, MEMORY_MB) else {
        return;
    };
    let run = |server: &mut GroupServer<PostgreSql>, sql: &str| {
        drop(
            server
                .control
                .ask(async |session| session.query(sql).await)
                .unwrap(),
        );
    };
    run(&mut server, "CREATE SCHEMA ciphertax");
    run(&mut server, "CREATE TABLE ciphertax.t (id INT PRIMARY KEY)");
    run(&mut server, "SET synchronous_commit = on");
    // A reading has what the one before it asked the session to tell.
    drop(server.counters().unwrap());
    let all = server.counters().unwrap();
    let of_all = [
        COMMITS,
        LOG_FLUSHES,
        LOG_WRITES,
        counter::CONNECTIONS,
        counter::LOG_BYTES,
        counter::LOG_WAITS,
        counter::PAGES_READ,
        counter::PAGES_REQUESTED,
        counter::PAGES_WRITTEN,
    ];
    are_there(&all, &of_all);
    are_there(&all, counts);
    let rose = rise(&mut server, |server| {
        for id in 0..TRANSACTIONS {
            run(server, &format!("INSERT INTO ciphertax.t VALUES ({id})"));
        }
        drop(server.counters().unwrap());
    });
    lies_between("commits", commits(&rose), TRANSACTIONS, TRANSACTIONS + OF_ITS_OWN);
    lies_between(
        "log writes",
        rose[LOG_WRITES],
        TRANSACTIONS,
        2 * TRANSACTIONS + OF_ITS_OWN,
    );
    lies_between(
        "flushes",
        rose[LOG_FLUSHES],
        TRANSACTIONS,
        2 * TRANSACTIONS + OF_ITS_OWN,
    );
    let each = counter::commits_per_flush(&rose).unwrap();
    assert!((0.4..1.6).contains(&each), "{each} {rose:?}");

    let lazy = rise(&mut server, |server| {
        run(server, "SET synchronous_commit = off");
        for id in 0..TRANSACTIONS {
            run(server, &format!("DELETE FROM ciphertax.t WHERE id = {id}"));
        }
        drop(server.counters().unwrap());
    });
    lies_between(
        "flushes in the background",
        lazy[LOG_FLUSHES],
        0,
        TRANSACTIONS / 2,
    );

    let mut said = None;
    let asleep = rise(&mut server, |server| {
        server.ask_for_wait_events();
        run(server, "SELECT pg_sleep(1.5)");
        said = server.wait_events();
        drop(server.counters().unwrap());
    });
    let said = said.unwrap();
    let rounds = said.rounds as i64;
    lies_between("questions", rounds, 5, 40);
    let asleep_in = said.sessions["Timeout:PgSleep"] as i64;
    lies_between("sessions asleep", asleep_in, rounds - 2, rounds);
    // The questions are none of the transactions.
    lies_between("commits", commits(&asleep) - asleep[ASKED], 0, 4);
    server.close().unwrap();
}

#[test]
fn postgresql_counts_commits_and_flushes() {
    postgresql_counts_commits("postgresql", &[]);
}

/// True if no operation is in progress.
fn is_empty(current: &RawDocument) -> bool {
    current.get_array("inprog").unwrap().into_iter().next().is_none()
}

#[test]
fn mongodb_counts_commits_flushes_and_waits_for_locks() {
    let Some(mut server) = server::<MongoDb>("mongodb", 256) else {
        return;
    };
    let insert = |server: &mut GroupServer<MongoDb>, id: i64| {
        let insert = rawdoc! {
            "insert": "t", "documents": [{ "_id": id }], "writeConcern": { "j": true }, "$db": "ciphertax",
        };
        let answer = server.control.ask(async |session| session.command(&insert).await);
        assert_eq!(answer.unwrap().get_i32("n").unwrap(), 1);
    };
    insert(&mut server, -1);
    let all = server.counters().unwrap();
    let of_all = [
        COMMITS,
        LOCK_WAITS,
        LOCK_WAIT_US,
        LOG_FLUSHES,
        counter::CONNECTIONS,
        counter::LOG_BYTES,
        counter::PAGES_EVICTED,
        counter::PAGES_READ,
        counter::PAGES_REQUESTED,
        counter::PAGES_WRITTEN,
        "wiredTiger.transaction.update conflicts",
    ];
    are_there(&all, &of_all);
    let began = Instant::now();
    let rose = rise(&mut server, |server| {
        (0..TRANSACTIONS).for_each(|id| insert(server, id))
    });
    let took = began.elapsed().as_micros() as i64;
    lies_between(
        "commits",
        rose[COMMITS],
        TRANSACTIONS,
        2 * TRANSACTIONS + OF_ITS_OWN,
    );
    // One after the other, each of which waits for the log.
    let waits: BTreeMap<&str, i64> = counter::waited_us(&rose).collect();
    let synced = waits["wiredTiger.log:log sync time duration"];
    lies_between("microseconds of syncs", synced, took / 20, took);
    // Since the journal is also flushed by itself, every 100 ms.
    lies_between(
        "flushes",
        rose[LOG_FLUSHES],
        TRANSACTIONS,
        2 * TRANSACTIONS + 4 * OF_ITS_OWN,
    );

    let options = server.control.ways[0].clone();
    let mut waited = Duration::ZERO;
    let locked = rise(&mut server, |server| {
        let hold = |options: &_, taken: Sender<()>| {
            testkit::run(async |reactor| {
                let (mut session, _) = mongodb::Session::connect(reactor, options).await.unwrap();
                session
                    .command(&rawdoc! { "fsync": 1_i32, "lock": true, "$db": "admin" })
                    .await
                    .unwrap();
                taken.send(()).unwrap();
                // Others of the server's own wait for it too.
                let waiting = rawdoc! {
                    "currentOp": 1_i32, "waitingForLock": true, "ns": { "$regex": "^ciphertax" }, "$db": "admin",
                };
                while is_empty(&session.command(&waiting).await.unwrap()) {
                    reactor.sleep_until(Instant::now() + ASK_AGAIN).await;
                }
                reactor.sleep_until(Instant::now() + HELD).await;
                session
                    .command(&rawdoc! { "fsyncUnlock": 1_i32, "$db": "admin" })
                    .await
                    .unwrap();
            });
        };
        waited = wait_for_lock(options, hold, || insert(server, TRANSACTIONS));
    });
    assert!(locked[LOCK_WAITS] >= 1, "{locked:?}");
    // Others of the server's own wait for it too.
    assert!(
        locked[LOCK_WAIT_US] >= HELD.as_micros() as i64 / 2,
        "{waited:?} {locked:?}"
    );
    server.close().unwrap();
}

mod test_all {
    use super::*;

    #[test]
    fn mariadb_10_2_counts_commits_flushes_and_waits_for_locks() {
        innodb_counts_commits_and_locks("mariadb-10.2", &[LOG_FLUSHES, counter::BINLOG_COMMITS]);
    }

    #[test]
    fn postgresql_18_counts_commits_and_flushes() {
        postgresql_counts_commits("postgresql-18", &[counter::PAGES_EVICTED]);
    }
}
