//! The scenarios ask what sysbench asks: its statements stand here as `oltp_common.lua` and its kin of release 1.0
//! write them.

use std::time::Duration;

use ciphertax_engine::{Engine, SliceYield, Workload};
use ciphertax_model::{Dataset, Distribution, Load, Pgbench};

use super::mock::{Asked, Mock, Value};
use super::*;
use crate::connect::Connect;

/// No row is sure to be there, since the mock holds none.
const TABLES: Tables = Tables {
    dataset: Dataset {
        tables: 2,
        table_size: 10_000,
        distribution: Distribution::Uniform,
    },
    thinned: true,
};

/// The statements of transactions; `{}` is a table.
const POINT: &str = "SELECT c FROM {} WHERE id=?";
const SIMPLE_RANGE: &str = "SELECT c FROM {} WHERE id BETWEEN ? AND ?";
const SUM_RANGE: &str = "SELECT SUM(k) FROM {} WHERE id BETWEEN ? AND ?";
const ORDER_RANGE: &str = "SELECT c FROM {} WHERE id BETWEEN ? AND ? ORDER BY c";
const DISTINCT_RANGE: &str = "SELECT DISTINCT c FROM {} WHERE id BETWEEN ? AND ? ORDER BY c";
const UPDATE_INDEX: &str = "UPDATE {} SET k=k+1 WHERE id=?";
const UPDATE_NON_INDEX: &str = "UPDATE {} SET c=? WHERE id=?";
const DELETE: &str = "DELETE FROM {} WHERE id=?";
const INSERT: &str = "INSERT INTO {} (id, k, c, pad) VALUES (?, ?, ?, ?)";

const READS: [&str; 5] = [POINT, SIMPLE_RANGE, SUM_RANGE, ORDER_RANGE, DISTINCT_RANGE];
const WRITES: [&str; 4] = [UPDATE_INDEX, UPDATE_NON_INDEX, DELETE, INSERT];

#[test]
fn every_scenario_prepares_its_statements_for_every_table_once() {
    for (scenario, is_transaction, statements) in [
        (Scenario::Delete, false, vec![DELETE]),
        (Scenario::ReadOnly, true, READS.to_vec()),
        (Scenario::ReadWrite, true, [&READS[..], &WRITES].concat()),
        (Scenario::UpdateIndex, false, vec![UPDATE_INDEX]),
        (Scenario::UpdateNonIndex, false, vec![UPDATE_NON_INDEX]),
        (Scenario::WriteOnly, true, WRITES.to_vec()),
    ] {
        let database = Mock::<false>::new();
        let mut engine = engine(oltp(&database, scenario));
        engine.prepare(0).unwrap().unwrap();
        // This server does not prepare BEGIN.
        let mut expected: Vec<Asked> = is_transaction
            .then(|| Asked::Prepare("COMMIT".into()))
            .into_iter()
            .collect();
        for table in ["sbtest1", "sbtest2"] {
            let of_table = statements
                .iter()
                .map(|sql| Asked::Prepare(sql.replace("{}", table)));
            expected.extend(of_table);
        }
        assert_eq!(database.asked(), expected, "{scenario:?}");
    }
}

#[test]
fn a_transaction_has_ten_point_selects_four_ranges_and_four_writes_of_which_the_last_puts_a_row_back() {
    let database = Mock::<false>::new();
    let (asked, yielded) = ran(&database, oltp(&database, Scenario::ReadWrite));
    assert_eq!((yielded.queries, yielded.restarts), (20, 0));
    assert_eq!(asked[0], Asked::Text("BEGIN".into()));
    assert_eq!(asked[19], Asked::Execute("COMMIT".into(), vec![]));

    let mut statements = asked[1..19].iter();
    let mut next = |expected: &str| {
        let Some(Asked::Execute(sql, values)) = statements.next() else {
            panic!("{expected} is not executed");
        };
        let tables = ["sbtest1", "sbtest2"];
        let table = tables
            .iter()
            .position(|table| *sql == expected.replace("{}", table));
        (
            table.unwrap_or_else(|| panic!("{sql} is not {expected}")),
            values.as_slice(),
        )
    };
    let points: Vec<usize> = (0..10)
        .map(|_| {
            let (table, values) = next(POINT);
            let [Value::Integer(1..=10_000)] = values else {
                panic!("{values:?}");
            };
            table
        })
        .collect();
    let are_one = points.iter().all(|table| *table == points[0]);
    assert!(are_one, "all ask one table");
    for range in &READS[1..] {
        let [Value::Integer(first), Value::Integer(last)] = next(range).1 else {
            panic!("{range}");
        };
        assert_eq!(last - first, 99, "{range}");
    }
    assert!(matches!(next(UPDATE_INDEX).1, [Value::Integer(_)]));
    let [Value::Text(c), Value::Integer(_)] = next(UPDATE_NON_INDEX).1 else {
        panic!("{UPDATE_NON_INDEX}");
    };
    assert_groups(c, 10);
    let (deleted_from, deleted) = next(DELETE);
    let (inserted_into, inserted) = next(INSERT);
    assert_eq!(deleted_from, inserted_into);
    assert_eq!(deleted[0], inserted[0]);
    let [_, Value::Integer(1..=10_000), Value::Text(c), Value::Text(pad)] = inserted else {
        panic!("{inserted:?}");
    };
    assert_groups(c, 10);
    assert_groups(pad, 5);
}

#[test]
fn a_transaction_that_the_server_gives_up_is_rolled_back_and_begun_anew() {
    // BEGIN and the first update are answered, the second update is not.
    let database = Mock::<false>::giving_up(&[3]);
    let (asked, yielded) = ran(&database, oltp(&database, Scenario::WriteOnly));
    let is_text = |asked: &Asked, text: &str| *asked == Asked::Text(text.into());
    assert!(is_text(&asked[0], "BEGIN") && is_text(&asked[3], "ROLLBACK") && is_text(&asked[4], "BEGIN"));
    let counts = (asked.len(), yielded.restarts, yielded.queries);
    assert_eq!(counts, (4 + 6, 1, 2 + 1 + 6));
    assert_eq!(yielded.failures, 0);

    // A single statement leaves nothing to be rolled back.
    let database = Mock::<false>::giving_up(&[1, 2]);
    let (asked, yielded) = ran(&database, oltp(&database, Scenario::UpdateIndex));
    assert_eq!((asked.len(), yielded.restarts, yielded.queries), (3, 2, 1));
    let database = Mock::<false>::giving_up(&[1]);
    let (asked, yielded) = ran(&database, insert(&database));
    assert_eq!((asked.len(), yielded.restarts), (2, 1));
}

#[test]
fn selects_have_the_values_of_sysbench_and_the_databases_placeholders() {
    let database = Mock::<true>::new();
    let tables = TABLES;
    let select = |of| SelectRandom {
        access: database.clone(),
        tables,
        of,
    };
    let points = "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let (asked, _) = ran(&database, select(Random::Points));
    let [Asked::Execute(sql, values)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!((sql.as_str(), values.len()), (points, 10));

    let (asked, _) = ran(&database, select(Random::Ranges));
    let [Asked::Execute(sql, values)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert!(
        sql.starts_with("SELECT count(k) FROM sbtest1 WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4 OR ")
            && sql.ends_with(" OR k BETWEEN $19 AND $20"),
        "{sql}"
    );
    for range in values.chunks(2) {
        let [Value::Integer(first), Value::Integer(last)] = range else {
            panic!("{range:?}");
        };
        assert_eq!(last - first, 5);
    }

    let point_select = PointSelect {
        access: database.clone(),
        tables,
    };
    let (asked, _) = ran(&database, point_select);
    let [Asked::Execute(sql, values)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert!(
        [
            "SELECT c FROM sbtest1 WHERE id=$1",
            "SELECT c FROM sbtest2 WHERE id=$1"
        ]
        .contains(&sql.as_str())
    );
    assert!(matches!(values.as_slice(), [Value::Integer(1..=10_000)]));
}

#[test]
fn an_insert_leaves_its_id_to_the_server_in_the_servers_way() {
    let text = |asked: Vec<Asked>| match asked.as_slice() {
        [Asked::Text(text)] => text.clone(),
        _ => panic!("{asked:?}"),
    };
    let mysql = Mock::<false>::new();
    let postgresql = Mock::<true>::new();
    let of_mysql = text(ran(&mysql, insert(&mysql)).0);
    let of_postgresql = text(ran(&postgresql, insert(&postgresql)).0);
    let values = |text: &str, columns: &str| {
        let rest = text.strip_prefix("INSERT INTO sbtest").unwrap();
        let values = rest[1..]
            .strip_prefix(columns)
            .unwrap_or_else(|| panic!("{text}"));
        values.to_owned()
    };
    let of_mysql = values(&of_mysql, " (id, k, c, pad) VALUES (0, ");
    assert_eq!(
        of_mysql,
        values(&of_postgresql, " (k, c, pad) VALUES ("),
        "of one seed"
    );
    let (k, texts) = of_mysql.split_once(", '").unwrap();
    assert!((1..=10_000).contains(&k.parse::<u32>().unwrap()));
    let (c, pad) = texts.strip_suffix("')").unwrap().split_once("', '").unwrap();
    assert_groups(c, 10);
    assert_groups(pad, 5);
}

#[test]
fn bulk_inserts_fill_sysbenchs_buffer_with_consecutive_rows() {
    let database = Mock::<true>::new();
    let (asked, _) = ran_times(&database, BulkInsert::new(database.clone()), 2);
    let texts: Vec<&str> = asked
        .iter()
        .map(|asked| match asked {
            Asked::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    let mut next = 1;
    for text in texts {
        // Another row would not fit: at this length a row and its comma have at most 14 bytes.
        let holds = (512 * 1024 - 15..512 * 1024).contains(&text.len());
        assert!(holds, "{}", text.len());
        let rows = text.strip_prefix("INSERT INTO sbbulk1 VALUES(").unwrap();
        for row in rows.strip_suffix(')').unwrap().split("),(") {
            assert_eq!(row, format!("{next},{next}"));
            next += 1;
        }
    }
}

#[test]
fn pgbenchs_scripts_are_asked_as_pgbench_prepares_them() {
    let tables = Pgbench { scale: 3 };
    let database = Mock::<true>::new();
    let select = SelectOnly {
        access: database.clone(),
        tables,
    };
    let (asked, yielded) = ran(&database, select);
    let [Asked::Execute(sql, values)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(sql, "SELECT abalance FROM pgbench_accounts WHERE aid = $1");
    assert!(matches!(values.as_slice(), [Value::Integer(1..=300_000)]));
    assert_eq!(yielded.queries, 1);

    let tpcb = || TpcbLike {
        access: database.clone(),
        tables,
    };
    let mut engine = engine(tpcb());
    engine.prepare(0).unwrap().unwrap();
    let text = |text: &str| Asked::Text(text.into());
    let before: Vec<Asked> = database.asked();
    for asked in [
        text("VACUUM ANALYZE pgbench_branches"),
        text("VACUUM ANALYZE pgbench_tellers"),
        text("TRUNCATE TABLE pgbench_history"),
        Asked::Prepare("END".into()),
    ] {
        assert!(before.contains(&asked), "{asked:?} is not in {before:?}");
    }

    let (asked, yielded) = ran_times(&database, tpcb(), 50);
    assert_eq!((asked.len(), yielded.queries), (7 * 50, 7 * 50));
    let mut deltas = Vec::new();
    for transaction in asked.chunks(7) {
        let executed = |index: usize| match &transaction[index] {
            Asked::Execute(sql, values) => (sql.as_str(), integers(values)),
            other => panic!("{other:?}"),
        };
        assert_eq!(transaction[0], text("BEGIN"), "this server does not prepare it");
        let (sql, values) = executed(1);
        let expected = "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2";
        assert_eq!(sql, expected);
        let [delta, aid] = values[..] else {
            panic!("{values:?}")
        };
        assert!((-5000..=5000).contains(&delta) && (1..=300_000).contains(&aid));
        let select = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
        assert_eq!(executed(2), (select, vec![aid]));
        let (sql, values) = executed(3);
        let expected = "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2";
        assert_eq!(sql, expected);
        let tid = values[1];
        assert!(values[0] == delta && (1..=30).contains(&tid));
        let (sql, values) = executed(4);
        let expected = "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2";
        assert_eq!(sql, expected);
        let bid = values[1];
        assert!(values[0] == delta && (1..=3).contains(&bid));
        let insert = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)";
        assert_eq!(executed(5), (insert, vec![tid, bid, aid, delta]));
        assert_eq!(executed(6), ("END", vec![]));
        deltas.push(delta);
    }
    assert!(deltas.iter().any(|delta| *delta < 0) && deltas.iter().any(|delta| *delta > 0));
}

#[test]
fn a_transaction_of_pgbenchs_that_the_server_gives_up_is_made_again_with_the_same_values() {
    // After the history was emptied, the update of the teller.
    let database = Mock::<false>::giving_up(&[5]);
    let tpcb = TpcbLike {
        access: database.clone(),
        tables: Pgbench::default(),
    };
    let (asked, yielded) = ran(&database, tpcb);
    let counts = (asked.len(), yielded.restarts, yielded.queries);
    assert_eq!(counts, (4 + 1 + 7, 1, 3 + 1 + 7));
    assert_eq!(asked[4], Asked::Text("ROLLBACK".into()));
    assert_eq!(asked[..4], asked[5..9]);
    assert_eq!(asked[11], Asked::Execute("COMMIT".into(), vec![]));
}

fn integers(values: &[Value]) -> Vec<i64> {
    let integer = |value: &Value| match value {
        Value::Integer(value) => *value,
        Value::Text(text) => panic!("{text}"),
    };
    values.iter().map(integer).collect()
}

#[test]
fn short_connections_select_a_row_or_insert_and_count_one() {
    let database = Mock::<true>::new();
    let select = Connect {
        access: database.clone(),
        task: SelectRow(TABLES),
    };
    let (asked, yielded) = ran(&database, select);
    let [Asked::Text(sql)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    let id = sql.strip_prefix("SELECT c FROM sbtest1 WHERE id=").unwrap();
    assert!((1..=10_000).contains(&id.parse::<u32>().unwrap()));
    assert_eq!(yielded.queries, 1);

    let mut engine = engine(Connect {
        access: database.clone(),
        task: InsertAndCount,
    });
    engine.prepare(0).unwrap().unwrap();
    let create =
        "CREATE TABLE IF NOT EXISTS connect_insert_count (id SERIAL PRIMARY KEY, k INTEGER NOT NULL)";
    let empty = "TRUNCATE TABLE connect_insert_count";
    let found = database.asked();
    assert_eq!(found, [create, empty].map(|sql| Asked::Text(sql.into())));
    let yielded = engine.slice(0, Duration::ZERO).unwrap();
    let asked = database.asked();
    assert!(
        matches!(&asked[0], Asked::Text(sql) if sql.starts_with("INSERT INTO connect_insert_count (k) VALUES ("))
    );
    let count = "SELECT COUNT(*) FROM connect_insert_count WHERE id = lastval()";
    assert_eq!(asked[1], Asked::Text(count.into()));
    assert_eq!((asked.len(), yielded.queries), (2, 2));
}

/// Groups of eleven digits, parted by dashes.
fn assert_groups(text: &str, groups: usize) {
    let all: Vec<&str> = text.split('-').collect();
    let are_digits = all
        .iter()
        .all(|group| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit()));
    assert!(all.len() == groups && are_digits, "{text}");
}

fn oltp(database: &Mock<false>, scenario: Scenario) -> Oltp<Mock<false>> {
    Oltp {
        access: database.clone(),
        tables: TABLES,
        scenario,
    }
}

fn insert<const POSTGRES: bool>(database: &Mock<POSTGRES>) -> Insert<Mock<POSTGRES>> {
    Insert {
        access: database.clone(),
        tables: TABLES,
    }
}

/// What one operation asked, and what it counted as.
fn ran<const POSTGRES: bool>(database: &Mock<POSTGRES>, workload: impl Workload) -> (Vec<Asked>, SliceYield) {
    ran_times(database, workload, 1)
}

fn ran_times<const POSTGRES: bool>(
    database: &Mock<POSTGRES>,
    workload: impl Workload,
    operations: u32,
) -> (Vec<Asked>, SliceYield) {
    let load = Load {
        batch: Some(operations),
        ..LOAD
    };
    let mut engine = Engine::start(vec![workload], &load, 1).unwrap();
    engine.prepare(0).unwrap().unwrap();
    database.asked();
    let yielded = engine.slice(0, Duration::ZERO).unwrap();
    assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
    assert_eq!(yielded.operations[0].count, u64::from(operations));
    (database.asked(), yielded)
}

const LOAD: Load = Load {
    workers: Some(1),
    batch: Some(1),
    ..Load::closed(1)
};

fn engine(workload: impl Workload) -> Engine {
    Engine::start(vec![workload], &LOAD, 1).unwrap()
}
