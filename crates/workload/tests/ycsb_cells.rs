//! Fields of YCSB's table that the client encrypts, on MariaDB and MongoDB.

use ciphertax_model::workload::CELLS;
use ciphertax_model::*;
use ciphertax_testkit::contains;
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb::Session as MongodbSession;
use ciphertax_wire::mysql::Session;
use ciphertax_workload::mongodb;
use ciphertax_workload::mongodb::DATABASE;
use ciphertax_workload::ycsb::FieldEncryption;

use crate::common::*;
use crate::ycsb_mongodb::{documents, server};
use crate::ycsb_mysql::count;

/// A record of the table.
const RECORD: &str = "user6284781860667377211";

/// What is stored: all fields, or field0 and field3.
fn encryption(format: CellFormat, mode: CellMode, encoding: CellEncoding, all: bool) -> ColumnEncryption {
    let named = ["field0", "field3"].map(str::to_owned);
    ColumnEncryption {
        feature: ColumnFeature::Stored,
        format,
        algorithm: CellAlgorithm::Aes128Gcm,
        mode,
        encoding,
        columns: match all {
            true => ColumnSelection::All,
            false => ColumnSelection::Named(named.into()),
        },
        decrypt: Decrypt::All,
    }
}

fn by(encryption: &ColumnEncryption, key: &str) -> FieldEncryption {
    let key = MasterKey::from_hex(&key.repeat(16)).unwrap();
    FieldEncryption::stored(Some(encryption), Some(&key)).unwrap()
}

/// Makes sure that a slice did what it should, and that no cell was left out.
fn assert_whole(yielded: &SliceYield, cells_of_a_record: u64) {
    assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
    let [encrypted, decrypted, named] = yielded.counts_of(CELLS);
    assert_eq!(encrypted + decrypted, named);
    let read = count_of(yielded, "read") + count_of(yielded, "read_modify_write");
    let inserted = count_of(yielded, "insert");
    if count_of(yielded, "scan") == 0 {
        assert_eq!(decrypted, cells_of_a_record * read);
    } else {
        assert!(decrypted > 0);
    }
    assert!(encrypted >= cells_of_a_record * inserted);
}

fn reads<S: KeyValue>(store: S) -> SliceYield {
    let mix = Workload::YcsbC.ycsb_mix().unwrap();
    slice(
        Ycsb::new(store, &TABLE, mix, Arc::new(KeySpace::new(&TABLE))),
        SLICE / 3,
    )
}

/// What a message says in parentheses that the key is known by.
fn number(message: &str) -> &str {
    message.rsplit('(').next().unwrap().trim_end_matches(')')
}

fn error_of(yielded: SliceYield) -> String {
    match yielded.first_failure {
        Some(Failure::Error(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn mariadb_stores_cells_of_every_format_and_never_sees_a_value() {
    use CellEncoding::{Base64, Binary};
    use CellMode::{Deterministic, Random};
    let server = empty_server();
    load(&server, None);
    let value = |field: &str| {
        let sql = format!("SELECT {field} FROM ciphertax.usertable WHERE YCSB_KEY = '{RECORD}'");
        administer(&server, &[&sql]).remove(0)
    };
    let canaries = [value("FIELD3"), value("FIELD7")];
    // In two halves, so that no log of the question holds one.
    let halves = |canary: &str| {
        let (one, other) = canary.split_at(canary.len() / 2);
        format!("CONCAT('{one}', '{other}')")
    };
    // A plain session that looks for them everywhere.
    let found = || {
        let all = (0..10).map(|field| format!("COALESCE(FIELD{field}, '')"));
        let all = all.collect::<Vec<_>>().join(", ");
        canaries.each_ref().map(|canary| {
            let canary = halves(canary);
            let sql =
                format!("SELECT COUNT(*) FROM ciphertax.usertable WHERE INSTR(CONCAT({all}), {canary})");
            administer(&server, &[&sql]).remove(0)
        })
    };
    assert_eq!(found(), ["1", "1"]);
    administer(
        &server,
        &[
            "SET GLOBAL log_output = 'TABLE'",
            "TRUNCATE mysql.general_log",
            "SET GLOBAL general_log = ON",
        ],
    );
    for (format, mode, encoding, all) in [
        (CellFormat::AeadCbcHmac, Deterministic, Binary, true),
        (CellFormat::AeadCbcHmac, Random, Base64, false),
        (CellFormat::Encdb, Random, Base64, true),
        (CellFormat::Encdb, Random, Binary, false),
        (CellFormat::Csfle, Deterministic, Base64, true),
    ] {
        let encryption = encryption(format, mode, encoding, all);
        let fields = by(&encryption, "07");
        administer(&server, &["TRUNCATE mysql.general_log"]);
        load(&server, Some(&fields));
        // What is not encrypted can be found.
        assert_eq!(found(), ["0", if all { "0" } else { "1" }], "{encryption}");
        core_workloads(
            |_| store(&server, Some(&fields)),
            || count(&server),
            |yielded| {
                assert_whole(yielded, if all { 10 } else { 2 });
            },
        );
        assert_eq!(found()[0], "0", "{encryption}");
        let statements = canaries.each_ref().map(|canary| {
            let canary = halves(canary);
            let sql = format!("SELECT COUNT(*) FROM mysql.general_log WHERE INSTR(argument, {canary})");
            administer(&server, &[&sql]).remove(0)
        });
        assert_eq!(statements[0], "0", "{encryption}");
        if !all {
            assert_ne!(statements[1], "0");
        }
        let executed = "SELECT COUNT(*) > 10 FROM mysql.general_log WHERE command_type = 'Execute'";
        assert_eq!(administer(&server, &[executed]), ["1"]);
    }
    for setting in ["general_log = OFF", "log_output = DEFAULT"] {
        administer(&server, &[&format!("SET GLOBAL {setting}")]);
    }
}

#[test]
fn a_changed_byte_or_another_key_on_mariadb_names_the_column_and_the_key() {
    let server = empty_server();
    let encryption = encryption(
        CellFormat::AeadCbcHmac,
        CellMode::Random,
        CellEncoding::Binary,
        true,
    );
    load(&server, Some(&by(&encryption, "07")));
    let read = |key: &str| reads(store(&server, Some(&by(&encryption, key))));
    assert_whole(&read("07"), 10);
    let wrong_key = error_of(read("08"));
    assert!(
        wrong_key.starts_with("usertable.field0 of record user") && wrong_key.contains("another key"),
        "{wrong_key}"
    );
    let flip = "UPDATE ciphertax.usertable SET FIELD3 = CONCAT(LEFT(FIELD3, 60), CHAR(ASCII(SUBSTR(FIELD3, 61)) ^ 1), \
                SUBSTR(FIELD3, 62))";
    administer(&server, &[flip]);
    let changed = error_of(read("07"));
    let beginning = "usertable.field3 of record user";
    assert!(changed.starts_with(beginning), "{changed}");
    // Eight bytes of what the key is known by, and other ones than of the other key.
    assert_eq!(number(&changed).len(), 16, "{changed}");
    assert_ne!(number(&changed), number(&wrong_key));
    administer(
        &server,
        &["UPDATE ciphertax.usertable SET FIELD3 = LEFT(FIELD3, 50)"],
    );
    let cut = error_of(read("07"));
    assert!(
        cut.starts_with("usertable.field3 of record user") && cut.contains("no cell of aead_cbc_hmac"),
        "{cut}"
    );
}

#[test]
fn what_was_stored_with_another_key_is_made_anew() {
    let server = empty_server();
    let encryption = encryption(CellFormat::Csfle, CellMode::Random, CellEncoding::Base64, false);
    let fields = by(&encryption, "07");
    load(&server, Some(&fields));
    assert_eq!(load(&server, Some(&fields)), [1050], "it was right");
    assert_eq!(load(&server, Some(&by(&encryption, "08"))).first(), Some(&100));
    assert_eq!(load(&server, None).first(), Some(&100));
}

#[test]
fn batches_of_new_records_hold_cells() {
    let server = empty_server();
    let encryption = encryption(CellFormat::Encdb, CellMode::Random, CellEncoding::Base64, true);
    let fields = by(&encryption, "07");
    load(&server, Some(&fields));
    let yielded = slice(YcsbLoad::new(store(&server, Some(&fields)), &TABLE), SLICE / 3);
    assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
    let [encrypted, decrypted, named] = yielded.counts_of(CELLS);
    assert_eq!(encrypted, 1000 * count_of(&yielded, "insert"));
    assert_eq!((named, decrypted), (encrypted, 0));
}

#[test]
fn mongodb_stores_encrypted_values_and_a_session_without_the_key_sees_none() {
    let Some(server) = server() else { return };
    load_mongodb(&server, None);
    let value = |field: &str| binary(&server, field).bytes;
    let canary = value("field3");
    for (mode, kind) in [(CellMode::Random, 2), (CellMode::Deterministic, 1)] {
        let encryption = encryption(CellFormat::Csfle, mode, CellEncoding::Binary, true);
        let fields = by(&encryption, "07");
        load_mongodb(&server, Some(&fields));
        let stored = binary(&server, "field3");
        let found = (stored.subtype, stored.bytes[0]);
        assert_eq!(found, (BinarySubtype::Encrypted, kind));
        let seen = stored.bytes.len();
        assert_eq!(seen, 18 + 16 + 112 + 32, "as MongoDB's own drivers make it");
        let record = find(&server);
        assert!(!contains(record.as_bytes(), &canary[..16]));
        core_workloads(
            |_| mongodb_store(&server, Some(&fields)),
            || documents(&server, "usertable"),
            |yielded| {
                assert_whole(yielded, 10);
            },
        );
        let equal = binary(&server, "field9").bytes == stored.bytes;
        assert!(!equal, "values differ by their field");
    }
}

#[test]
fn a_changed_byte_or_another_key_on_mongodb_names_the_field_and_the_key() {
    let Some(server) = server() else { return };
    let encryption = encryption(CellFormat::Csfle, CellMode::Random, CellEncoding::Binary, false);
    load_mongodb(&server, Some(&by(&encryption, "07")));
    let read = |key: &str| reads(mongodb_store(&server, Some(&by(&encryption, key))));
    assert_whole(&read("07"), 2);
    let wrong_key = error_of(read("08"));
    assert!(
        wrong_key.starts_with("usertable.field0 of record user") && wrong_key.contains("another key"),
        "{wrong_key}"
    );
    let mut bytes = binary(&server, "field3").bytes;
    let put = |bytes: &[u8], subtype| {
        let value = Binary {
            subtype,
            bytes: bytes.to_vec(),
        };
        let mut updates = RawArrayBuf::new();
        updates.push(rawdoc! { "q": {}, "u": { "$set": { "field3": value } }, "multi": true });
        ask(
            &server,
            rawdoc! { "update": "usertable", "updates": updates, "$db": &*DATABASE },
        );
    };
    bytes[40] ^= 1;
    put(&bytes, BinarySubtype::Encrypted);
    let changed = error_of(read("07"));
    let is_told = changed.starts_with("usertable.field3 of record user") && changed.contains("was changed");
    assert!(is_told, "{changed}");
    assert_eq!(number(&changed).len(), 32, "{changed}");
    let plain = vec![b'x'; 100];
    put(&plain, BinarySubtype::Generic);
    let plain = error_of(read("07"));
    assert!(plain.contains("has a field3 that is not encrypted"), "{plain}");
}

/// Loads the table, and returns what was heard of the progress.
fn load(server: &PrivateServer, fields: Option<&FieldEncryption>) -> Vec<u64> {
    let contents = Contents {
        fields: fields.cloned(),
        ..crate::common::usertable(TABLE)
    };
    prepared::<Session>(&plain(server), &contents).unwrap()
}

fn store(server: &PrivateServer, fields: Option<&FieldEncryption>) -> SqlTable<MysqlAccess> {
    SqlTable {
        access: access(server, None),
        table: TABLE,
        columns: None,
        fields: fields.cloned(),
    }
}

fn load_mongodb(server: &PrivateServer, fields: Option<&FieldEncryption>) {
    let options = plain_mongodb(server);
    run(async |reactor| mongodb::dataset::prepare(reactor, &options, &TABLE, fields, &mut |_| ()).await)
        .unwrap();
}

fn mongodb_store(server: &PrivateServer, fields: Option<&FieldEncryption>) -> MongodbTable {
    MongodbTable {
        access: crate::ycsb_mongodb::access(server),
        table: TABLE,
        writes: true,
        fields: fields.cloned(),
    }
}

fn ask(server: &PrivateServer, command: RawDocumentBuf) -> RawDocumentBuf {
    let options = plain_mongodb(server);
    run(async |reactor| {
        let (mut session, _) = MongodbSession::connect(reactor, &options).await.unwrap();
        session.command(&command).await.unwrap()
    })
}

/// The record as a session without any key sees it.
fn find(server: &PrivateServer) -> RawDocumentBuf {
    ask(
        server,
        rawdoc! { "find": "usertable", "filter": { "_id": RECORD }, "$db": &*DATABASE },
    )
}

fn binary(server: &PrivateServer, field: &str) -> Binary {
    let answer = find(server);
    let batch = answer
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let record = batch.get_document(0).unwrap();
    match record.get(field).unwrap().unwrap() {
        RawBsonRef::Binary(value) => value.to_binary(),
        other => panic!("{other:?}"),
    }
}
