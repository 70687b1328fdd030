//! sysbench's scenarios: what they ask, and that they go on whatever the others do to their tables.

use std::sync::mpsc::{Sender, channel};

use ciphertax_engine::Workload;
use ciphertax_workload::sql::*;

use crate::common::*;

const SLICE: Duration = Duration::from_millis(300);
const LOCK_WAITS: &str = "Innodb_row_lock_waits";
const SCENARIOS: [(Scenario, u64); 6] = [
    (Scenario::Delete, 1),
    (Scenario::ReadOnly, 16),
    (Scenario::ReadWrite, 20),
    (Scenario::UpdateIndex, 1),
    (Scenario::UpdateNonIndex, 1),
    (Scenario::WriteOnly, 6),
];

#[test]
fn every_scenario_runs_on_several_tables_in_plaintext_and_over_tls_with_every_distribution() {
    let server = server_with(&tables(3, 200).dataset);
    for (index, distribution) in Distribution::ALL.into_iter().enumerate() {
        let tables = of(distribution);
        let tls = [None, Some(TlsVersion::V1_3)][index % 2];
        for (scenario, queries) in SCENARIOS {
            let yielded = without_failure(slice(oltp(access(&server, tls), tables, scenario), SLICE));
            // Two connections rarely meet, and then have sent in vain.
            let operations = yielded.operations[0].count;
            let most = queries * (operations + yielded.restarts) + yielded.restarts;
            assert!(
                (queries * operations..=most).contains(&yielded.queries),
                "{scenario:?}: {} statements of {operations} transactions",
                yielded.queries
            );
        }
        for of in [Random::Points, Random::Ranges] {
            let access = access(&server, tls);
            let select = SelectRandom { access, tables, of };
            one_query_each(&without_failure(slice(select, SLICE)));
        }
        let access = || access(&server, tls);
        let point_select = PointSelect {
            access: access(),
            tables,
        };
        one_query_each(&without_failure(slice(point_select, SLICE)));
        let insert = Insert {
            access: access(),
            tables,
        };
        one_query_each(&without_failure(slice(insert, SLICE)));
    }
}

#[test]
fn transactions_leave_as_many_rows_as_there_were_however_often_they_meet() {
    let tables = tables(1, 20);
    let server = server_with(&tables.dataset);
    for scenario in [Scenario::ReadWrite, Scenario::WriteOnly] {
        let workload = oltp(access(&server, None), tables, scenario);
        without_failure(crowd(vec![workload]).remove(0));
        check_tables(&server, &tables.dataset).unwrap();
    }
}

#[test]
fn a_transaction_that_waits_in_vain_for_a_lock_is_rolled_back_and_begun_anew() {
    let tables = tables(1, 20);
    let server = server_with(&tables.dataset);
    administer(&server, &["SET GLOBAL innodb_lock_wait_timeout = 1"]);
    for scenario in [Scenario::ReadWrite, Scenario::WriteOnly, Scenario::UpdateIndex] {
        let yielded = thread::scope(|scope| {
            let (taken, are_taken) = channel();
            let held = &server;
            scope.spawn(move || hold_all_rows(held, &taken));
            are_taken.recv_timeout(PATIENCE).unwrap();
            batch(oltp(access(&server, None), tables, scenario), 20)
        });
        assert!(without_failure(yielded).restarts > 0, "{scenario:?}");
        check_tables(&server, &tables.dataset).unwrap();
    }
    administer(&server, &["SET GLOBAL innodb_lock_wait_timeout = DEFAULT"]);
}

/// Takes the locks of all rows, says so, and gives them back when a transaction of two connections has begun anew.
fn hold_all_rows(server: &PrivateServer, taken: &Sender<()>) {
    with_session(server, async |session| {
        for sql in ["BEGIN", "SELECT id FROM ciphertax.sbtest1 FOR UPDATE"] {
            session.query(sql).await.unwrap();
        }
        // Each waits once. Nobody gets a lock meanwhile, so whoever waits a third time has waited in vain before.
        let waits = status(session, LOCK_WAITS).await + 3;
        taken.send(()).unwrap();
        while status(session, LOCK_WAITS).await < waits {
            thread::sleep(Duration::from_millis(10));
        }
        session.query("COMMIT").await.unwrap();
    });
}

#[test]
fn deletes_of_rows_that_are_gone_are_no_errors_nor_are_reads_where_rows_are_deleted() {
    let all = tables(1, 20);
    let server = server_with(&all.dataset);
    // So many that in one of forty million runs a row would be left.
    without_failure(batch(oltp(access(&server, None), all, Scenario::Delete), 400));
    let left = administer(&server, &["SELECT COUNT(*) FROM ciphertax.sbtest1"]);
    assert_eq!(left, ["0"]);
    let read = |tables| slice(oltp(access(&server, None), tables, Scenario::ReadOnly), SLICE);
    let failure = read(all).first_failure.unwrap();
    says(failure.message(), "was the table changed?");
    without_failure(read(Tables { thinned: true, ..all }));
}

#[test]
fn rows_inserted_by_several_connections_of_several_arms_never_collide() {
    let tables = tables(2, 50);
    let server = server_with(&tables.dataset);
    let arm = |tls| Insert {
        access: access(&server, tls),
        tables,
    };
    let yields = crowd(vec![arm(None), arm(Some(TlsVersion::V1_3))]);
    let inserted: u64 = yields
        .into_iter()
        .map(|yielded| without_failure(yielded).operations[0].count)
        .sum();
    let rows = "SELECT (SELECT COUNT(*) FROM ciphertax.sbtest1) + (SELECT COUNT(*) FROM ciphertax.sbtest2)";
    assert_eq!(administer(&server, &[rows]), [(100 + inserted).to_string()]);
}

#[test]
fn every_slice_of_bulk_inserts_begins_with_empty_tables() {
    let server = server_with(&tables(1, 10).dataset);
    let arm = |tls| BulkInsert::new(access(&server, tls));
    let mut engine = Engine::start(vec![arm(None), arm(Some(TlsVersion::V1_3))], &load(2), 1).unwrap();
    for arm in [0, 1, 1, 0] {
        engine.prepare(arm).unwrap().unwrap();
        let yielded = without_failure(engine.slice(arm, SLICE).unwrap());
        let counted: Vec<(u64, u64)> = ["sbbulk1", "sbbulk2"]
            .map(|table| counts(&server, table))
            .to_vec();
        for (rows, last) in &counted {
            assert_eq!(rows, last, "ids are those from 1 on");
        }
        let rows: u64 = counted.iter().map(|(rows, _)| rows).sum();
        let per_statement = rows / yielded.operations[0].count;
        assert!((30_000..=50_000).contains(&per_statement), "{per_statement}");
    }
}

/// Rows of a table and its greatest id.
fn counts(server: &PrivateServer, table: &str) -> (u64, u64) {
    let sql = format!("SELECT COUNT(*), MAX(id) FROM ciphertax.{table}");
    let row = administer(server, &[&sql]).remove(0);
    let (rows, last) = row.split_once(' ').unwrap();
    (rows.parse().unwrap(), last.parse().unwrap())
}

fn oltp(access: MysqlAccess, tables: Tables, scenario: Scenario) -> Oltp<MysqlAccess> {
    Oltp {
        access,
        tables,
        scenario,
    }
}

/// Three tables of 200 rows, of which some may have been deleted.
fn of(distribution: Distribution) -> Tables {
    let mut tables = tables(3, 200);
    tables.dataset.distribution = distribution;
    Tables {
        thinned: true,
        ..tables
    }
}

/// A slice of each arm, with eight connections on two threads.
fn crowd<W: Workload>(arms: Vec<W>) -> Vec<SliceYield> {
    let count = arms.len();
    let mut engine = Engine::start(arms, &load(8), 1).unwrap();
    (0..count)
        .map(|arm| {
            engine.prepare(arm).unwrap().unwrap();
            engine.slice(arm, 3 * SLICE).unwrap()
        })
        .collect()
}

fn load(connections: u32) -> Load {
    Load {
        workers: Some(2),
        ..Load::closed(connections)
    }
}

fn without_failure(yielded: SliceYield) -> SliceYield {
    let found = (yielded.failures, yielded.unfinished);
    assert_eq!(found, (0, 0), "{:?}", yielded.first_failure);
    assert!(yielded.operations[0].count > 0);
    yielded
}

fn one_query_each(yielded: &SliceYield) {
    assert_eq!(yielded.queries, yielded.operations[0].count);
}
