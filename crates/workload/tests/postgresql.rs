//! The data set and the workloads on PostgreSQL.

use ciphertax_engine::Workload;
use ciphertax_model::Pgbench;
use ciphertax_wire::Expectation;
use ciphertax_wire::Session as _;
use ciphertax_wire::postgresql::{ConnectOptions, Session};
use ciphertax_workload::connect::Task;
use ciphertax_workload::dataset;
use ciphertax_workload::dataset::{BULK_BYTES, BULK_ROWS};
use ciphertax_workload::postgresql::end_sessions;
use ciphertax_workload::sql::*;

use crate::common::*;

const TABLES: fn() -> Tables = || tables(2, 2500);
const ROWS: &str =
    "SELECT (SELECT COUNT(*) FROM ciphertax.sbtest1), (SELECT COUNT(*) FROM ciphertax.sbtest2)";

#[test]
fn what_is_prepared_passes_the_check_is_taken_up_again_and_can_be_removed() {
    let server = server();
    let contents = crate::common::sbtest(TABLES().dataset);
    let heard = prepared(&server, &contents).unwrap();
    assert_eq!(heard.len(), 6, "three chunks a table: {heard:?}");
    assert!(heard.is_sorted() && heard.last() == Some(&5000), "{heard:?}");
    let right = checksums(&server);
    let of_an_index = [("DROP INDEX ciphertax.k_2", 0)];
    for (damage, chunks) in DAMAGE.into_iter().chain(of_an_index) {
        administer(&server, damage);
        let heard = prepared(&server, &contents).unwrap();
        assert_eq!(heard.len(), chunks + 1, "{damage}: {heard:?}");
        assert_eq!(checksums(&server), right, "{damage}");
    }
    with_session(&server, async |session| {
        dataset::check(session, &TABLES().dataset).await.unwrap();
        assert!(dataset::remove(session).await.unwrap());
        assert!(!dataset::remove(session).await.unwrap());
    });
    let left = administer(&server, "SELECT 1 FROM pg_namespace WHERE nspname = 'ciphertax'");
    assert!(left.is_empty());
}

#[test]
fn the_rows_are_those_of_every_other_database() {
    let here = server();
    let dataset = TABLES().dataset;
    prepared(&here, &crate::common::sbtest(dataset)).unwrap();
    let there = crate::common::server_with(&dataset);
    let some = "SELECT id, k, c, pad FROM ciphertax.sbtest2 WHERE id % 100 = 0 ORDER BY id";
    let rows = with_session(&here, async |session| {
        let rows = session.query(some).await.unwrap();
        // A fixed length is filled up with blanks, which MySQL takes off again.
        let text =
            |column| move |row: &ciphertax_wire::postgresql::TextRow| row.text(column).trim_end().to_owned();
        rows.iter()
            .map(|row| [0, 1, 2, 3].map(|column| text(column)(row)))
            .collect::<Vec<_>>()
    });
    let expected = crate::common::with_session(&there, async |session: &mut mysql::Session| {
        let rows = session.query(some).await.unwrap();
        rows.iter()
            .map(|row| [0, 1, 2, 3].map(|column| row.text(column)))
            .collect::<Vec<_>>()
    });
    assert_eq!(rows.len(), 25);
    assert_eq!(rows, expected);
}

#[test]
fn every_scenario_runs_and_a_transaction_leaves_as_many_rows_as_it_found() {
    let server = server();
    let tables = TABLES();
    prepared(&server, &crate::common::sbtest(tables.dataset)).unwrap();
    let access = || access(&server);
    runs(BulkRead { access: access() });
    runs(BulkInsert::new(access()));
    connects(access(), SelectRow(tables));
    connects(access(), InsertAndCount);
    connects(access(), Nothing);
    compare_scenarios(&mut Rows(&server), tables);
}

/// A server whose tables have as many rows each after a scenario as before, unless it inserts some or deletes them.
struct Rows<'a>(&'a PrivateServer);

impl Compare<PostgresqlAccess> for Rows<'_> {
    fn compare<W: Workload>(&mut self, name: &str, _: usize, workload: impl Fn(PostgresqlAccess) -> W) {
        let rows = || -> Vec<u64> {
            let rows = administer(self.0, ROWS);
            rows[0].split(' ').map(|count| count.parse().unwrap()).collect()
        };
        let sum = |rows: &[u64]| rows.iter().sum::<u64>();
        let before = rows();
        let (operations, _) = runs(workload(access(self.0)));
        match name {
            "oltp_delete" => {}
            "oltp_insert" => assert_eq!(sum(&rows()), sum(&before) + operations),
            _ => assert_eq!(rows(), before, "{name}"),
        }
    }
}

#[test]
fn a_bulk_read_carries_one_mebibyte() {
    let server = server();
    prepared(&server, &crate::common::sbtest(tables(1, 10).dataset)).unwrap();
    let access = access(&server);
    let yielded = slice(BulkRead { access }, SLICE);
    let operations = yielded.operations[0].count;
    let rows = u64::from(BULK_ROWS);
    let received = yielded.bytes_received / operations;
    let is_all = (BULK_BYTES..BULK_BYTES + 100 * rows).contains(&received);
    assert!(is_all, "{received}");
}

#[test]
fn every_core_workload_of_ycsb_runs_and_leaves_as_many_records_as_it_found() {
    let server = server();
    let heard = prepared(&server, &crate::common::usertable(TABLE)).unwrap();
    assert_eq!(heard.last(), Some(&1050));
    core_workloads(|_| store(&server, None), || count(&server), |_| ());
    let (batches, _) = runs(YcsbLoad::new(store(&server, None), &TABLE));
    let loaded = administer(&server, "SELECT COUNT(*) FROM ciphertax.usertable_load");
    assert_eq!(loaded, [(batches * 100).to_string()]);
    // What a run that was killed left is made right.
    administer(
        &server,
        "DELETE FROM ciphertax.usertable WHERE ycsb_key LIKE '%7'",
    );
    let heard = prepared(&server, &crate::common::usertable(TABLE)).unwrap();
    assert_eq!(heard.last(), Some(&1050));
}

#[test]
fn encrypted_fields_are_loaded_changed_and_read_by_sessions_with_the_key_alone() {
    let server = server();
    let of_key = |columns| Contents {
        columns: Some(columns),
        ..crate::common::usertable(TABLE)
    };
    let columns = Columns::new(ColumnFunctions::Pgcrypto);
    assert_eq!(prepared(&server, &of_key(columns)).unwrap().last(), Some(&1050));
    let right = prepared(&server, &of_key(columns)).unwrap();
    assert_eq!(right, [1050], "it is right already");
    // 100 bytes and their padding.
    const PADDED: &str =
        "SELECT COUNT(*) FROM ciphertax.usertable WHERE LENGTH(field0) = 112 AND LENGTH(field9) = 112";
    assert_eq!(administer(&server, PADDED), ["1050"]);
    let encrypted = || store(&server, Some(columns));
    core_workloads(|_| encrypted(), || count(&server), |_| ());
    let (batches, _) = runs(YcsbLoad::new(encrypted(), &TABLE));
    assert!(batches > 0);
    let padded = administer(&server, PADDED);
    assert_eq!(padded, ["1050"], "what was updated is encrypted too");
    let heard = prepared(&server, &of_key(Columns::new(ColumnFunctions::Pgcrypto))).unwrap();
    let is_anew = heard.len() > 1 && heard.last() == Some(&1050);
    assert!(is_anew, "with another key it is written anew: {heard:?}");
}

#[test]
fn pgbenchs_tables_are_made_and_its_transactions_keep_the_balances_equal() {
    let server = server();
    let tables = Pgbench { scale: 2 };
    let contents = crate::common::pgbench(tables);
    let heard = prepared(&server, &contents).unwrap();
    let is_in_order = heard.len() > 10 && heard.is_sorted() && heard.last() == Some(&tables.rows());
    assert!(is_in_order, "{heard:?}");
    let kept = prepared(&server, &contents).unwrap();
    assert_eq!(kept, [tables.rows()], "it is kept");

    runs(SelectOnly {
        access: access(&server),
        tables,
    });
    let mut engine = engine(vec![TpcbLike {
        access: access(&server),
        tables,
    }]);
    const SUMS: &str = "SELECT (SELECT SUM(abalance) FROM ciphertax.pgbench_accounts), \
        (SELECT SUM(tbalance) FROM ciphertax.pgbench_tellers), (SELECT SUM(bbalance) FROM ciphertax.pgbench_branches), \
        (SELECT SUM(delta) FROM ciphertax.pgbench_history), (SELECT COUNT(*) FROM ciphertax.pgbench_history)";
    let sums = || -> Vec<i64> {
        let rows = with_session(&server, async |session| {
            let rows = session.query(SUMS).await.unwrap();
            (0..5).map(|column| rows[0].text(column)).collect::<Vec<String>>()
        });
        rows.iter().map(|sum| sum.parse().unwrap_or(0)).collect()
    };
    let mut before = 0;
    for _ in 0..2 {
        engine.prepare(0).unwrap().unwrap();
        assert_eq!(sums()[4], 0, "history is empty at the beginning of every slice");
        let yielded = engine.slice(0, SLICE).unwrap();
        assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
        let transactions = yielded.operations[0].count;
        assert_eq!(yielded.queries, 7 * transactions);
        let sums = sums();
        let [accounts, tellers, branches, history, rows] = sums[..] else {
            panic!("{sums:?}");
        };
        assert_eq!((tellers, branches), (accounts, accounts));
        assert_eq!((accounts - before, rows as u64), (history, transactions));
        before = accounts;
    }
    // Balances may be any.
    assert_eq!(prepared(&server, &contents).unwrap(), [tables.rows()]);
    administer(&server, "DELETE FROM ciphertax.pgbench_accounts WHERE aid = 5");
    let is_anew = prepared(&server, &contents).unwrap().len() > 10;
    assert!(is_anew, "it is made anew");
}

#[test]
fn somebody_elses_schema_is_left_alone_and_an_empty_one_is_taken() {
    let server = server();
    let contents = crate::common::sbtest(tables(1, 10).dataset);
    for theirs in [
        "CREATE TABLE ciphertax.theirs (id INTEGER)",
        "CREATE FUNCTION ciphertax.theirs() RETURNS INTEGER LANGUAGE SQL AS 'SELECT 1'",
        "CREATE TYPE ciphertax.theirs AS ENUM ('a')",
    ] {
        administer(&server, "CREATE SCHEMA ciphertax");
        administer(&server, theirs);
        let refused = prepared(&server, &contents).unwrap_err();
        let is_refused = matches!(refused, DatasetError::NotOurs("schema"));
        assert!(is_refused, "{theirs}: {refused}");
        with_session(&server, async |session| {
            let refused = dataset::remove(session).await.unwrap_err();
            let is_refused = matches!(refused, DatasetError::NotOurs("schema"));
            assert!(is_refused, "{theirs}: {refused}");
        });
        administer(&server, "DROP SCHEMA ciphertax CASCADE");
    }
    administer(&server, "CREATE SCHEMA ciphertax");
    prepared(&server, &contents).unwrap();
}

#[test]
fn an_account_with_rights_in_a_schema_alone_makes_the_data_set_there_and_leaves_the_schema() {
    let method = AuthenticationMethod::Password;
    let server = PrivateServer::builder(&POSTGRESQL)
        .account(method)
        .start()
        .unwrap();
    let account = server.account(method).unwrap();
    let user = &account.user;
    administer(&server, &format!("ALTER ROLE {user} NOSUPERUSER"));
    let guest = || ConnectOptions {
        user: user.clone(),
        password: account.password.clone(),
        method: Some(Method::Password),
        ..plain_postgresql(&server)
    };
    let contents = crate::common::sbtest(tables(1, 10).dataset);
    let make = || crate::common::prepared::<Session>(&guest(), &contents);
    assert!(matches!(make(), Err(DatasetError::Wire(error)) if error.is_missing_right()));
    for owner in [user, "CURRENT_USER"] {
        administer(&server, &format!("CREATE SCHEMA {SCHEMA} AUTHORIZATION {owner}"));
        administer(&server, &format!("GRANT ALL ON SCHEMA {SCHEMA} TO {user}"));
        for _ in 0..2 {
            make().unwrap();
            run(async |reactor| {
                let (mut session, _) = Session::connect(reactor, &guest()).await.unwrap();
                assert!(dataset::remove(&mut session).await.unwrap());
                assert!(!dataset::remove(&mut session).await.unwrap(), "it is empty");
            });
        }
        administer(&server, &format!("DROP SCHEMA {SCHEMA}"));
    }
}

#[test]
fn what_three_load_a_part_of_each_is_whole() {
    let contents = Contents {
        usertable: Some(TABLE),
        pgbench: Some(Pgbench { scale: 1 }),
        ..crate::common::sbtest(tables(2, 2500).dataset)
    };
    let sums = |server: &PrivateServer| {
        let others = [
            "usertable",
            "pgbench_branches",
            "pgbench_tellers",
            "pgbench_accounts",
        ]
        .map(|table| {
            let rows =
                format!("SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM ciphertax.{table} AS t");
            administer(server, &rows)
        });
        [checksums(server), others.concat()].concat()
    };
    let alone = server();
    prepared(&alone, &contents).unwrap();
    let server = server();
    let options = plain_postgresql(&server);
    assert!(begin::<Session>(&options, &contents));
    let written = (0..3).map(|index| load_part::<Session>(&options, &contents, index, 3));
    let written: u64 = written.filter_map(|heard| heard.last().copied()).sum();
    assert_eq!(written, contents.rows());
    assert!(!begin::<Session>(&options, &contents));
    let heard = prepared(&server, &contents).unwrap();
    let rows = contents.rows();
    assert_eq!(
        heard,
        [5000, 5000 + u64::from(TABLE.record_count), rows],
        "nothing was missing"
    );
    assert_eq!(sums(&server), sums(&alone));
}

#[test]
fn sessions_of_the_account_that_still_load_are_ended_and_no_others() {
    let server = server();
    run(async |reactor| {
        let (mut loading, _) = Session::connect(reactor, &plain_postgresql(&server))
            .await
            .unwrap();
        let (mut other, _) = Session::connect(reactor, &plain_postgresql(&server))
            .await
            .unwrap();
        let of_the_shop = ConnectOptions {
            settings: vec![("application_name".into(), "shop".into())],
            ..plain_postgresql(&server)
        };
        let (mut shop, _) = Session::connect(reactor, &of_the_shop).await.unwrap();
        let (mut session, _) = Session::connect(reactor, &plain_postgresql(&server))
            .await
            .unwrap();
        end_sessions(&mut session, &[]).await.unwrap();
        end_sessions(&mut session, &[loading.id(), shop.id(), 1])
            .await
            .unwrap();
        assert!(loading.query("SELECT 1").await.is_err());
        other.query("SELECT 1").await.unwrap();
        shop.query("SELECT 1").await.unwrap();
    });
}

/// Connections that do this.
fn connects<T: Task<PostgresqlAccess>>(access: PostgresqlAccess, task: T) {
    runs(Connect { access, task });
}

/// One slice of a workload, without a failure: its operations and its restarts.
fn runs(workload: impl Workload) -> (u64, u64) {
    let yielded = slice(workload, SLICE);
    assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
    let operations = yielded.operations.iter().map(|operations| operations.count).sum();
    assert!(operations > 0);
    (operations, yielded.restarts)
}

fn server() -> Lease {
    lease(&POSTGRESQL)
}

/// Makes the data set, and returns what progress was heard.
fn prepared(server: &PrivateServer, contents: &Contents) -> Result<Vec<u64>, DatasetError> {
    crate::common::prepared::<Session>(&plain_postgresql(server), contents)
}

/// Of all rows of the tables.
fn checksums(server: &PrivateServer) -> Vec<String> {
    ["sbtest1", "sbtest2", "bulk"]
        .iter()
        .flat_map(|table| {
            let sum = format!("SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM ciphertax.{table} AS t");
            administer(server, &sum)
        })
        .collect()
}

/// Runs a statement, and returns its rows, columns parted by spaces.
pub(crate) fn administer(server: &PrivateServer, statement: &str) -> Vec<String> {
    with_session(server, async |session| {
        let rows = session.query(statement).await.unwrap();
        let row = |row: &ciphertax_wire::postgresql::TextRow| {
            format!("{} {}", row.text(0), row.text(1)).trim_end().to_owned()
        };
        rows.iter().map(row).collect()
    })
}

fn with_session<T>(server: &PrivateServer, task: impl AsyncFnOnce(&mut Session) -> T) -> T {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain_postgresql(server))
            .await
            .unwrap();
        task(&mut session).await
    })
}

fn store(server: &PrivateServer, columns: Option<Columns>) -> SqlTable<PostgresqlAccess> {
    SqlTable {
        access: access(server),
        table: TABLE,
        columns,
        fields: None,
    }
}

fn count(server: &PrivateServer) -> u64 {
    administer(server, "SELECT COUNT(*) FROM ciphertax.usertable")[0]
        .parse()
        .unwrap()
}

fn access(server: &PrivateServer) -> PostgresqlAccess {
    PostgresqlAccess {
        options: ConnectOptions {
            schema: Some(SCHEMA.to_string()),
            ..plain_postgresql(server)
        },
        expectation: Expectation::new(Transport::Plain),
        connections: 2,
        is_pooled: false,
        columns: None,
    }
}
