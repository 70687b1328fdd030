//! YCSB's table and workloads on MySQL-compatible servers.

use ciphertax_model::Workload;
use ciphertax_wire::mysql::Session;
use ciphertax_workload::sql::Columns;

use crate::common::*;

#[test]
fn every_core_workload_runs_and_leaves_as_many_records_as_it_found() {
    let server = loaded();
    core_workloads(
        |_| store(&server, TABLE),
        || count(&server),
        |yielded| {
            let operations: u64 = yielded.operations.iter().map(|operations| operations.count).sum();
            assert_eq!(
                yielded.queries,
                operations + count_of(yielded, "read_modify_write")
            );
        },
    );
    load(&server, TABLE);
}

#[test]
fn a_changed_byte_is_found_by_reads_that_compare_and_a_changed_length_by_all() {
    let server = loaded();
    let update = |value: &str| {
        let sql = format!("UPDATE ciphertax.usertable SET FIELD7 = {value}");
        administer(&server, &[&sql]);
    };
    let read = |verify| failure_of_reads(|table| store(&server, table), verify);
    assert_eq!(read(true), None);
    update("INSERT(FIELD7, 50, 1, '!')");
    assert_changed(read(true), "other bytes in field7");
    assert_eq!(read(false), None);
    update("LEFT(FIELD7, 99)");
    assert_changed(read(false), "99 bytes in field7");
    administer(&server, &["DELETE FROM ciphertax.usertable"]);
    assert_changed(read(false), "is not there");
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
    assert_eq!(count(&server), 1050 + inserted);
    assert_eq!(load(&server, TABLE), [1050], "nothing else is written");
    assert_eq!(checksum(&server), right);
}

#[test]
fn encrypted_fields_are_loaded_changed_and_read_by_sessions_with_the_key_alone() {
    let server = empty_server();
    let columns = Columns::new(ColumnFunctions::AesEncrypt);
    let contents = Contents {
        columns: Some(columns),
        ..crate::common::usertable(TABLE)
    };
    let load = |contents: &Contents| prepared::<Session>(&plain(&server), contents).unwrap();
    assert_eq!(load(&contents).last(), Some(&1050));
    assert_eq!(load(&contents), [1050], "it is right already");
    // 100 bytes and their padding, which nobody without the key decrypts.
    let padded =
        "SELECT COUNT(*) FROM ciphertax.usertable WHERE LENGTH(FIELD0) = 112 AND LENGTH(FIELD9) = 112";
    assert_eq!(administer(&server, &[padded]), ["1050"]);
    let guessed = "SELECT COUNT(AES_DECRYPT(FIELD0, @ciphertax_key)) FROM ciphertax.usertable";
    assert_eq!(administer(&server, &[guessed]), ["0"]);

    let encrypted = |_| SqlTable {
        columns: Some(columns),
        ..store(&server, TABLE)
    };
    core_workloads(encrypted, || count(&server), |_| ());
    let found = administer(&server, &[padded]);
    assert_eq!(found, ["1050"], "what was updated is encrypted too");

    let of_another_key = Contents {
        columns: Some(Columns::new(ColumnFunctions::AesEncrypt)),
        ..contents
    };
    let heard = load(&of_another_key);
    let is_anew = heard.len() > 1 && heard.last() == Some(&1050);
    assert!(is_anew, "it is written anew: {heard:?}");
}

#[test]
fn batches_fill_a_table_of_their_own_anew_in_every_slice() {
    let server = loaded();
    let mut engine = engine(vec![YcsbLoad::new(store(&server, TABLE), &TABLE)]);
    for _ in 0..2 {
        engine.prepare(0).unwrap().unwrap();
        let yielded = engine.slice(0, SLICE).unwrap();
        assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
        let batches = yielded.operations[0].count;
        let found = (yielded.operations[0].kind.as_str(), yielded.queries);
        assert_eq!(found, ("insert", batches));
        let loaded = administer(&server, &["SELECT COUNT(*) FROM ciphertax.usertable_load"]);
        assert_eq!(loaded, [(100 * batches).to_string()]);
    }
    assert_eq!(count(&server), 1050);
}

#[test]
fn both_data_sets_can_be_there_together_and_another_takes_their_place() {
    let server = empty_server();
    let sbtest = tables(1, 700).dataset;
    let both = Contents {
        usertable: Some(TABLE),
        ..crate::common::sbtest(sbtest)
    };
    let names = || administer(&server, &["SHOW TABLES FROM ciphertax"]);
    let make = |contents| prepared::<Session>(&plain(&server), contents).unwrap();
    assert_eq!((make(&both).last(), both.rows()), (Some(&1750), 1750));
    assert_eq!(names(), ["bulk", "made_by_ciphertax", "sbtest1", "usertable"]);
    load(&server, TABLE);
    assert_eq!(names(), ["made_by_ciphertax", "usertable"]);
    make(&crate::common::sbtest(sbtest));
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

fn loaded() -> Lease {
    let server = empty_server();
    load(&server, TABLE);
    server
}

/// Loads the table, and returns what was heard of the progress.
fn load(server: &PrivateServer, table: YcsbTable) -> Vec<u64> {
    prepared::<Session>(&plain(server), &crate::common::usertable(table)).unwrap()
}

fn ycsb(
    server: &PrivateServer,
    table: YcsbTable,
    mix: YcsbMix,
    keys: &Arc<KeySpace>,
) -> Ycsb<SqlTable<MysqlAccess>> {
    Ycsb::new(store(server, table), &table, mix, Arc::clone(keys))
}

fn store(server: &PrivateServer, table: YcsbTable) -> SqlTable<MysqlAccess> {
    SqlTable {
        access: access(server, None),
        table,
        columns: None,
        fields: None,
    }
}

pub(crate) fn count(server: &PrivateServer) -> u64 {
    administer(server, &["SELECT COUNT(*) FROM ciphertax.usertable"])[0]
        .parse()
        .unwrap()
}

fn checksum(server: &PrivateServer) -> Vec<String> {
    administer(server, &["CHECKSUM TABLE ciphertax.usertable"])
}
