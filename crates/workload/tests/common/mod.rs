//! What the tests share: private servers, accesses, slices, YCSB's workloads.

use ciphertax_engine::Workload;
use ciphertax_model as model;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_workload::dataset;
use ciphertax_workload::sql::*;

pub(crate) use std::cell::Cell;
pub(crate) use std::collections::BTreeMap;
pub(crate) use std::future::poll_fn;
pub(crate) use std::path::Path;
pub(crate) use std::pin::pin;
pub(crate) use std::process::Command;
pub(crate) use std::sync::Arc;
pub(crate) use std::task::Poll;
pub(crate) use std::time::{Duration, Instant};
pub(crate) use std::{fs, thread};

pub(crate) use ciphertax_base::Phase;
pub(crate) use ciphertax_columns::{CellCipher, MasterKey};
pub(crate) use ciphertax_engine::{Engine, Failure, Part, SliceYield};
pub(crate) use ciphertax_lab::PrivateServer;
pub(crate) use ciphertax_lab::catalogue::{Entry, MARIADB, MYSQL, POSTGRESQL};
pub(crate) use ciphertax_model::{
    AuthenticationMethod, ColumnFunctions, Dataset, Distribution, Load, Pgbench, TlsVersion, Tpcc, Transport,
    YcsbMix, YcsbTable,
};
pub(crate) use ciphertax_testkit::peers::{Limit, run_program};
pub(crate) use ciphertax_testkit::{
    Lease, PATIENCE, fetched, lease, plain, plain_mongodb, plain_postgresql, rows, run, run_within, says,
    within,
};
pub(crate) use ciphertax_wire::mongodb::bson::spec::BinarySubtype;
pub(crate) use ciphertax_wire::mongodb::bson::{Binary, RawArrayBuf, RawBsonRef, RawDocumentBuf, rawdoc};
pub(crate) use ciphertax_wire::postgresql::Method;
pub(crate) use ciphertax_wire::{mysql, postgresql};
pub(crate) use ciphertax_workload::Access;
pub(crate) use ciphertax_workload::ArmColumns;
pub(crate) use ciphertax_workload::connect::{Connect, Nothing};
pub(crate) use ciphertax_workload::dataset::tpcc::{TableNames, TpccContents, When, check, growth};
pub(crate) use ciphertax_workload::dataset::{Contents, DatasetError, SCHEMA};
pub(crate) use ciphertax_workload::mongodb::MongodbTable;
pub(crate) use ciphertax_workload::mysql::MysqlAccess;
pub(crate) use ciphertax_workload::postgresql::PostgresqlAccess;
pub(crate) use ciphertax_workload::sql::{BulkInsert, SelectOnly, SqlSession, SqlTable, TpcbLike};
pub(crate) use ciphertax_workload::ycsb::{KeySpace, KeyValue, Ycsb, YcsbLoad};

/// A small table of YCSB, all of whose reads compare what they get.
pub(crate) const TABLE: YcsbTable = YcsbTable {
    record_count: 1050,
    field_count: 10,
    field_length: 100,
    batch_size: 100,
    load_threads: 3,
    verify: true,
};

/// YCSB's core workloads with the kinds of operations that each makes.
const CORE_WORKLOADS: [(model::Workload, &[&str]); 6] = [
    (model::Workload::YcsbA, &["read", "update"]),
    (model::Workload::YcsbB, &["read", "update"]),
    (model::Workload::YcsbC, &["read"]),
    (model::Workload::YcsbD, &["read", "insert"]),
    (model::Workload::YcsbE, &["insert", "scan"]),
    (model::Workload::YcsbF, &["read", "read_modify_write"]),
];

/// So many operations of a core workload that every kind is among them: one of 5 % is missed in two of ten million slices.
const ENOUGH: u32 = 300;

/// What may happen to two tables of 2,500 rows and to those of bulk reads, and how many chunks are made anew then.
pub(crate) const DAMAGE: [(&str, usize); 7] = [
    ("DELETE FROM ciphertax.sbtest1 WHERE id = 77", 1),
    ("DELETE FROM ciphertax.sbtest1 WHERE id IN (1000, 1001, 2500)", 3),
    ("UPDATE ciphertax.sbtest2 SET pad = '' WHERE id = 2001", 1),
    ("INSERT INTO ciphertax.sbtest2 (k) VALUES (1), (2)", 0),
    ("UPDATE ciphertax.sbtest2 SET id = -5 WHERE id = 3", 1),
    ("DROP TABLE ciphertax.sbtest1", 3),
    ("DELETE FROM ciphertax.bulk WHERE id = 3", 0),
];

/// How long a slice is.
pub(crate) const SLICE: Duration = Duration::from_millis(300);

/// Two connections on one thread, each served at once.
pub(crate) const LOAD: Load = Load {
    workers: Some(1),
    ..Load::closed(2)
};

/// A server without a data set.
pub(crate) fn empty_server() -> Lease {
    lease(&MARIADB)
}

/// A server with the data set: one table of so many rows, which all workloads leave as many.
pub(crate) fn server(rows: u32) -> Lease {
    server_with(&tables(1, rows).dataset)
}

/// A server with this data set.
pub(crate) fn server_with(dataset: &Dataset) -> Lease {
    let server = empty_server();
    prepare(&server, dataset).unwrap();
    server
}

/// Tables of so many rows, picked uniformly.
pub(crate) fn tables(tables: u32, table_size: u32) -> Tables {
    let dataset = Dataset {
        tables,
        table_size,
        distribution: Distribution::Uniform,
    };
    Tables {
        dataset,
        thinned: false,
    }
}

/// The tables of the `oltp` and bulk workloads alone.
pub(crate) fn sbtest(dataset: Dataset) -> Contents {
    Contents {
        sbtest: Some(dataset),
        ..Contents::NONE
    }
}

/// YCSB's table alone.
pub(crate) fn usertable(table: YcsbTable) -> Contents {
    Contents {
        usertable: Some(table),
        ..Contents::NONE
    }
}

/// pgbench's tables alone.
pub(crate) fn pgbench(tables: Pgbench) -> Contents {
    Contents {
        pgbench: Some(tables),
        ..Contents::NONE
    }
}

/// TPC-C's tables alone.
pub(crate) fn tpcc(tables: TpccContents) -> Contents {
    Contents {
        tpcc: Some(tables),
        ..Contents::NONE
    }
}

/// Makes a MySQL's data set, and returns what progress was heard.
pub(crate) fn prepare(server: &PrivateServer, dataset: &Dataset) -> Result<Vec<u64>, DatasetError> {
    prepared::<Session>(&options(server, None, None), &sbtest(*dataset))
}

/// What is wrong with a MySQL's data set, if anything is.
pub(crate) fn check_tables(server: &PrivateServer, dataset: &Dataset) -> Result<(), DatasetError> {
    with_session(server, async |session| dataset::check(session, dataset).await)
}

/// Removes what was made; false where there was nothing.
pub(crate) fn remove(server: &PrivateServer) -> Result<bool, DatasetError> {
    with_session(server, async |session| dataset::remove(session).await)
}

/// Makes any contents on any database, and returns what progress was heard.
pub(crate) fn prepared<S: SqlSession>(
    options: &S::Options,
    contents: &Contents,
) -> Result<Vec<u64>, DatasetError> {
    let mut heard = Vec::new();
    run_within(contents.patience().max(PATIENCE), async |reactor| {
        let mut progress = |rows| heard.push(rows);
        dataset::prepare_contents::<S>(reactor, options, contents, &mut Vec::new(), &mut progress).await
    })
    .expect("it hangs")?;
    Ok(heard)
}

/// Has the tables there, and tells whether they hold nothing.
pub(crate) fn begin<S: SqlSession>(options: &S::Options, contents: &Contents) -> bool {
    run(async |reactor| dataset::begin::<S>(reactor, options, contents).await).unwrap()
}

/// Writes one of several parts of the rows, and returns what progress was heard.
pub(crate) fn load_part<S: SqlSession>(
    options: &S::Options,
    contents: &Contents,
    index: u32,
    of: u32,
) -> Vec<u64> {
    let part = Part::new(index, of).unwrap();
    let mut heard = Vec::new();
    run_within(contents.patience().max(PATIENCE), async |reactor| {
        dataset::load_part::<S>(reactor, options, contents, part, &mut |rows| heard.push(rows)).await
    })
    .expect("it hangs")
    .unwrap();
    heard
}

/// Runs every core workload of YCSB: each makes its kinds of operations and no others, and leaves as many records as it found,
/// which `count` counts.
pub(crate) fn core_workloads<S: KeyValue>(
    store: impl Fn(YcsbMix) -> S,
    count: impl Fn() -> u64,
    holds: impl Fn(&SliceYield),
) {
    let keys = Arc::new(KeySpace::new(&TABLE));
    for (workload, kinds) in CORE_WORKLOADS {
        let mix = workload.ycsb_mix().unwrap();
        let mut engine = engine_of(
            vec![Ycsb::new(store(mix), &TABLE, mix, Arc::clone(&keys))],
            ENOUGH,
        );
        engine.prepare(0).unwrap().unwrap();
        let yielded = engine.slice(0, SLICE).unwrap();
        assert_eq!(yielded.failures, 0, "{workload:?}: {:?}", yielded.first_failure);
        for kind in ["read", "update", "insert", "scan", "read_modify_write"] {
            let is_made = count_of(&yielded, kind) > 0;
            assert_eq!(is_made, kinds.contains(&kind), "{workload:?}: {kind}");
        }
        holds(&yielded);
        assert_eq!(count(), 1050 + count_of(&yielded, "insert"), "{workload:?}");
        engine.prepare(0).unwrap().unwrap();
        assert_eq!(count(), 1050, "{workload:?}");
    }
}

/// Why reads of a table fail, if they do.
pub(crate) fn failure_of_reads<S: KeyValue>(store: impl Fn(YcsbTable) -> S, verify: bool) -> Option<String> {
    let table = YcsbTable { verify, ..TABLE };
    let mix = model::Workload::YcsbC.ycsb_mix().unwrap();
    let keys = Arc::new(KeySpace::new(&table));
    match slice(Ycsb::new(store(table), &table, mix, keys), SLICE).first_failure? {
        Failure::Error(problem) => Some(problem),
        other => panic!("{other:?}"),
    }
}

/// Makes sure that a table is said to have been changed.
pub(crate) fn assert_changed(failure: Option<String>, told: &str) {
    let problem = failure.unwrap();
    assert!(
        problem.starts_with("record user") && problem.contains(told) && problem.ends_with("changed?"),
        "{problem}"
    );
}

/// What scenarios of sysbench are held to.
pub(crate) trait Compare<C> {
    /// Compares a scenario of so many statements with sysbench's of this name.
    fn compare<W: Workload>(&mut self, name: &str, statements: usize, workload: impl Fn(C) -> W);
}

/// Compares every scenario but bulk inserts; deletes come last.
pub(crate) fn compare_scenarios<C: Access<Session: SqlSession>>(bed: &mut impl Compare<C>, tables: Tables) {
    bed.compare("oltp_point_select", 1, |access| PointSelect { access, tables });
    for (name, of) in [
        ("select_random_points", Random::Points),
        ("select_random_ranges", Random::Ranges),
    ] {
        bed.compare(name, 1, |access| SelectRandom { access, tables, of });
    }
    for (name, statements, scenario) in [
        ("oltp_read_only", 16, Scenario::ReadOnly),
        ("oltp_read_write", 20, Scenario::ReadWrite),
        ("oltp_update_index", 1, Scenario::UpdateIndex),
        ("oltp_update_non_index", 1, Scenario::UpdateNonIndex),
        ("oltp_write_only", 6, Scenario::WriteOnly),
        ("oltp_delete", 1, Scenario::Delete),
    ] {
        if scenario == Scenario::Delete {
            bed.compare("oltp_insert", 1, |access| Insert { access, tables });
        }
        bed.compare(name, statements, |access| Oltp {
            access,
            tables,
            scenario,
        });
    }
}

/// How an arm of this transport reaches the server.
pub(crate) fn access(server: &PrivateServer, tls: Option<TlsVersion>) -> MysqlAccess {
    MysqlAccess {
        forget_passwords: None,
        columns: None,
        key_exchange: None,
        options: options(server, Some(&dataset::SCHEMA), tls),
        expectation: Expectation::new(transport(tls)),
        connections: 1,
        is_pooled: false,
    }
}

/// The transport of plaintext sessions or of this TLS version.
pub(crate) fn transport(tls: Option<TlsVersion>) -> Transport {
    match tls {
        None => Transport::Plain,
        Some(TlsVersion::V1_0) => Transport::Tls10,
        Some(TlsVersion::V1_1) => Transport::Tls11,
        Some(TlsVersion::V1_2) => Transport::Tls12,
        Some(TlsVersion::V1_3) => Transport::Tls13,
    }
}

pub(crate) fn with_session<T>(server: &PrivateServer, task: impl AsyncFnOnce(&mut Session) -> T) -> T {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options(server, None, None))
            .await
            .unwrap();
        task(&mut session).await
    })
}

/// Runs statements, and returns the rows of the last, columns parted by spaces.
pub(crate) fn administer(server: &PrivateServer, statements: &[&str]) -> Vec<String> {
    with_session(server, async |session| {
        let mut rows = Vec::new();
        for statement in statements {
            rows = session.query(statement).await.unwrap();
        }
        rows.iter()
            .map(|row| format!("{} {}", row.text(0), row.text(1)).trim_end().to_owned())
            .collect()
    })
}

/// A counter of the server.
pub(crate) async fn status(session: &mut Session, name: &str) -> u64 {
    let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
    session.query(&sql).await.unwrap()[0].text(1).parse().unwrap()
}

pub(crate) fn engine<W: Workload>(arms: Vec<W>) -> Engine {
    Engine::start(arms, &LOAD, 1).unwrap()
}

/// One whose slices end after so many operations, however long those take on a busy machine.
pub(crate) fn engine_of<W: Workload>(arms: Vec<W>, operations: u32) -> Engine {
    let load = Load {
        batch: Some(operations),
        ..LOAD
    };
    Engine::start(arms, &load, 1).unwrap()
}

/// What opening the connections of a workload says.
pub(crate) fn opening<W: Workload>(workload: W) -> Result<(), Failure> {
    engine(vec![workload]).prepare(0).unwrap()
}

/// One slice of a workload.
pub(crate) fn slice<W: Workload>(workload: W, duration: Duration) -> SliceYield {
    let mut engine = engine(vec![workload]);
    engine.prepare(0).unwrap().unwrap();
    engine.slice(0, duration).unwrap()
}

/// So many operations of a workload.
pub(crate) fn batch<W: Workload>(workload: W, operations: u32) -> SliceYield {
    let mut engine = engine_of(vec![workload], operations);
    engine.prepare(0).unwrap().unwrap();
    engine.slice(0, SLICE).unwrap()
}

/// How a session is opened.
pub(crate) fn options(
    server: &PrivateServer,
    database: Option<&str>,
    tls: Option<TlsVersion>,
) -> ConnectOptions {
    let connector = |version| {
        let verification = Verification::Ca(server.ca_file().unwrap().to_owned());
        Arc::new(TlsConnector::new(&TlsPolicy::new(Some(version), verification)).unwrap())
    };
    ConnectOptions {
        database: database.map(str::to_owned),
        tls: tls.map(connector),
        ..plain(server)
    }
}

/// How many operations of a kind a slice has made.
pub(crate) fn count_of(yielded: &SliceYield, kind: &str) -> u64 {
    let found = yielded
        .operations
        .iter()
        .find(|operations| operations.kind == kind);
    found.map_or(0, |operations| operations.count)
}
