//! YCSB's table and workloads on MySQL-compatible servers.

use std::sync::Arc;

use ciphertax_engine::{Failure, Part};
use ciphertax_lab::PrivateServer;
use ciphertax_model::{ColumnFunctions, Workload, YcsbMix, YcsbTable};
use ciphertax_wire::mysql::Session;
use ciphertax_workload::dataset::{self, Contents, DatasetError};
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::{Columns, SqlTable};
use ciphertax_workload::ycsb::{KeySpace, Ycsb, YcsbLoad};

use crate::common::{
    CORE_WORKLOADS, ENOUGH, SLICE, TABLE, access, administer, count_of, empty_server, engine, engine_of,
    options, run, slice, tables,
};

const COUNT: &str = "SELECT COUNT(*) FROM ciphertax.usertable";

#[test]
fn every_core_workload_runs_and_leaves_as_many_records_as_it_found() {
    let server = loaded();
    let keys = Arc::new(KeySpace::new(&TABLE));
    for (workload, kinds) in CORE_WORKLOADS {
        let mix = workload.ycsb_mix().unwrap();
        let mut engine = engine_of(vec![ycsb(&server, TABLE, mix, &keys)], ENOUGH);
        engine.prepare(0).unwrap().unwrap();
        let yielded = engine.slice(0, SLICE).unwrap();
        assert_eq!(yielded.failures, 0, "{workload:?}: {:?}", yielded.first_failure);
        let count = |kind: &str| count_of(&yielded, kind);
        for kind in ["read", "update", "insert", "scan", "read_modify_write"] {
            assert_eq!(count(kind) > 0, kinds.contains(&kind), "{workload:?}: {kind}");
        }
        let operations: u64 = yielded.operations.iter().map(|operations| operations.count).sum();
        assert_eq!(yielded.queries, operations + count("read_modify_write"));
        assert_eq!(
            administer(&server, &[COUNT]),
            [(1050 + count("insert")).to_string()]
        );

        engine.prepare(0).unwrap().unwrap();
        assert_eq!(administer(&server, &[COUNT]), ["1050"], "{workload:?}");
    }
    run(async |reactor| {
        let contents = Contents::from(TABLE);
        dataset::prepare_contents::<Session>(
            reactor,
            &options(&server, None, None),
            &contents,
            &mut Vec::new(),
            |_| (),
        )
        .await
    })
    .unwrap();
}

#[test]
fn a_changed_byte_is_found_by_reads_that_compare_and_a_changed_length_by_all() {
    let server = loaded();
    let update = |value: &str| {
        let sql = format!("UPDATE ciphertax.usertable SET FIELD7 = {value}");
        administer(&server, &[&sql]);
    };
    let read = |verify| {
        let table = YcsbTable { verify, ..TABLE };
        let mix = Workload::YcsbC.ycsb_mix().unwrap();
        let keys = Arc::new(KeySpace::new(&table));
        slice(ycsb(&server, table, mix, &keys), SLICE).first_failure
    };
    let assert_told = |failure: Option<Failure>, told: &str| match failure {
        Some(Failure::Error(problem)) => assert!(
            problem.starts_with("record user") && problem.contains(told) && problem.ends_with("changed?"),
            "{problem}"
        ),
        other => panic!("{other:?}"),
    };
    assert_eq!(read(true), None);
    update("INSERT(FIELD7, 50, 1, '!')");
    assert_told(read(true), "other bytes in field7");
    assert_eq!(read(false), None);
    update("LEFT(FIELD7, 99)");
    assert_told(read(false), "99 bytes in field7");
    administer(&server, &["DELETE FROM ciphertax.usertable"]);
    assert_told(read(false), "is not there");
}

#[test]
fn an_interrupted_load_is_taken_up_and_what_is_wrong_is_made_anew() {
    let server = loaded();
    let right = checksum(&server);
    for (damage, heard) in [
        ("DO 0", &[1050][..]),
        (
            "DELETE FROM ciphertax.usertable WHERE YCSB_KEY = 'user6284781860667377211'",
            &[950, 1050],
        ),
        (
            "INSERT INTO ciphertax.usertable (YCSB_KEY) VALUES ('user5952875239596136740x')",
            &[1050, 100],
        ),
        (
            "UPDATE ciphertax.usertable SET FIELD3 = 'short' LIMIT 1",
            &[1050, 100],
        ),
        ("TRUNCATE TABLE ciphertax.usertable", &[100]),
        ("DROP TABLE ciphertax.usertable", &[100]),
    ] {
        administer(&server, &[damage]);
        let progress = load(&server, TABLE);
        assert!(progress.starts_with(heard), "{damage}: {progress:?}");
        assert_eq!(progress.last(), Some(&1050), "{damage}");
        assert_eq!(checksum(&server), right, "{damage}");
    }
}

#[test]
fn records_that_a_killed_run_inserted_are_deleted_before_the_next() {
    let server = loaded();
    let right = checksum(&server);
    let insert = YcsbMix {
        insert: 1.0,
        ..YcsbMix::default()
    };
    // By three load generators, one after the other.
    let mut inserted = 0;
    for part in 0..3 {
        let keys = Arc::new(KeySpace::of_part(&TABLE, Part::new(part, 3).unwrap()));
        let yielded = slice(ycsb(&server, TABLE, insert, &keys), SLICE);
        assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
        inserted += yielded.operations.iter().map(|kind| kind.count).sum::<u64>();
    }
    assert_eq!(administer(&server, &[COUNT]), [(1050 + inserted).to_string()]);
    assert_eq!(load(&server, TABLE), [1050], "nothing else is written");
    assert_eq!(checksum(&server), right);
}

#[test]
fn encrypted_fields_are_loaded_changed_and_read_by_sessions_with_the_key_alone() {
    let server = empty_server();
    let columns = Columns::new(ColumnFunctions::AesEncrypt);
    let contents = Contents {
        columns: Some(columns),
        ..Contents::from(TABLE)
    };
    let load = |contents: &Contents| {
        let mut heard = Vec::new();
        prepare(&server, contents, |rows| heard.push(rows)).unwrap();
        heard
    };
    assert_eq!(load(&contents).last(), Some(&1050));
    assert_eq!(load(&contents), [1050], "it is right already");
    // 100 bytes and their padding, which nobody without the key decrypts.
    let padded =
        "SELECT COUNT(*) FROM ciphertax.usertable WHERE LENGTH(FIELD0) = 112 AND LENGTH(FIELD9) = 112";
    assert_eq!(administer(&server, &[padded]), ["1050"]);
    let guessed = "SELECT COUNT(AES_DECRYPT(FIELD0, @ciphertax_key)) FROM ciphertax.usertable";
    assert_eq!(administer(&server, &[guessed]), ["0"]);

    let table = YcsbTable {
        verify: true,
        ..TABLE
    };
    let keys = Arc::new(KeySpace::new(&table));
    for (workload, kinds) in CORE_WORKLOADS {
        let store = SqlTable {
            access: access(&server, None),
            table,
            columns: Some(columns),
            fields: None,
        };
        let mix = workload.ycsb_mix().unwrap();
        let mut engine = engine_of(vec![Ycsb::new(store, &table, mix, Arc::clone(&keys))], ENOUGH);
        engine.prepare(0).unwrap().unwrap();
        let yielded = engine.slice(0, SLICE).unwrap();
        assert_eq!(yielded.failures, 0, "{workload:?}: {:?}", yielded.first_failure);
        assert!(
            kinds.iter().all(|kind| count_of(&yielded, kind) > 0),
            "{workload:?}"
        );
        engine.prepare(0).unwrap().unwrap();
    }
    assert_eq!(
        administer(&server, &[padded]),
        ["1050"],
        "what was updated is encrypted too"
    );

    let of_another_key = Contents {
        columns: Some(Columns::new(ColumnFunctions::AesEncrypt)),
        ..contents
    };
    let heard = load(&of_another_key);
    assert!(
        heard.len() > 1 && heard.last() == Some(&1050),
        "it is written anew: {heard:?}"
    );
}

#[test]
fn batches_fill_a_table_of_their_own_anew_in_every_slice() {
    let server = loaded();
    let store = SqlTable {
        access: access(&server, None),
        table: TABLE,
        columns: None,
        fields: None,
    };
    let mut engine = engine(vec![YcsbLoad::new(store, &TABLE)]);
    for _ in 0..2 {
        engine.prepare(0).unwrap().unwrap();
        let yielded = engine.slice(0, SLICE).unwrap();
        assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
        let batches = yielded.operations[0].count;
        assert_eq!(
            (yielded.operations[0].kind.as_str(), yielded.queries),
            ("insert", batches)
        );
        let count = administer(&server, &["SELECT COUNT(*) FROM ciphertax.usertable_load"]);
        assert_eq!(count, [(100 * batches).to_string()]);
    }
    assert_eq!(administer(&server, &[COUNT]), ["1050"]);
}

#[test]
fn both_data_sets_can_be_there_together_and_another_takes_their_place() {
    let server = empty_server();
    let sbtest = tables(1, 700).dataset;
    let both = Contents {
        usertable: Some(TABLE),
        ..Contents::from(sbtest)
    };
    let names = || administer(&server, &["SHOW TABLES FROM ciphertax"]);
    let mut heard = 0;
    prepare(&server, &both, |rows| heard = rows).unwrap();
    assert_eq!((heard, both.rows()), (1750, 1750));
    assert_eq!(names(), ["bulk", "made_by_ciphertax", "sbtest1", "usertable"]);
    load(&server, TABLE);
    assert_eq!(names(), ["made_by_ciphertax", "usertable"]);
    prepare(&server, &sbtest.into(), |_| ()).unwrap();
    assert_eq!(names(), ["bulk", "made_by_ciphertax", "sbtest1"]);
}

#[test]
fn records_of_any_size_are_loaded_and_read() {
    for (field_count, field_length, batch_size) in [(1, 1, 1), (3, 251, 7), (2, 70_000, 100)] {
        let server = empty_server();
        let table = YcsbTable {
            record_count: 40,
            field_count,
            field_length,
            batch_size,
            ..TABLE
        };
        assert_eq!(load(&server, table).last(), Some(&40));
        let mix = Workload::YcsbA.ycsb_mix().unwrap();
        let yielded = slice(ycsb(&server, table, mix, &Arc::new(KeySpace::new(&table))), SLICE);
        assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
    }
}

fn loaded() -> PrivateServer {
    let server = empty_server();
    load(&server, TABLE);
    server
}

/// Loads the table, and returns what was heard of the progress.
fn load(server: &PrivateServer, table: YcsbTable) -> Vec<u64> {
    let mut heard = Vec::new();
    prepare(server, &table.into(), |rows| heard.push(rows)).unwrap();
    heard
}

fn prepare(
    server: &PrivateServer,
    contents: &Contents,
    progress: impl FnMut(u64),
) -> Result<(), DatasetError> {
    let options = options(server, None, None);
    run(async |reactor| {
        dataset::prepare_contents::<Session>(reactor, &options, contents, &mut Vec::new(), progress).await
    })
}

fn ycsb(
    server: &PrivateServer,
    table: YcsbTable,
    mix: YcsbMix,
    keys: &Arc<KeySpace>,
) -> Ycsb<SqlTable<MysqlAccess>> {
    let store = SqlTable {
        access: access(server, None),
        table,
        columns: None,
        fields: None,
    };
    Ycsb::new(store, &table, mix, Arc::clone(keys))
}

fn checksum(server: &PrivateServer) -> Vec<String> {
    administer(server, &["CHECKSUM TABLE ciphertax.usertable"])
}
