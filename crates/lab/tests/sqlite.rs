//! Real files of SQLite and SQLCipher, judged by the disk and by `rusqlite` itself.

use ciphertax_base::Witness;
use ciphertax_lab::catalogue::SQLITE;
use ciphertax_lab::sqlite::{ProvedFile, data_size, options, prove};
use ciphertax_model::SqlCipher;
use ciphertax_wire::sqlite::{ConnectOptions, Session, is_disk_full, is_wrong_key};
use rusqlite::{Connection, OpenFlags};

use crate::prelude::*;

/// Every setting once as it comes and once otherwise.
const SETTINGS: [SqlCipher; 3] = [
    SqlCipher {
        kdf_iter: 256_000,
        page_size: 4096,
        hmac: true,
        memory_security: false,
    },
    SqlCipher {
        kdf_iter: 1000,
        page_size: 8192,
        hmac: false,
        memory_security: false,
    },
    SqlCipher {
        kdf_iter: 1000,
        page_size: 1024,
        hmac: true,
        memory_security: false,
    },
];

#[test]
fn the_catalogue_says_which_sqlite_and_which_sqlcipher_are_built_in() {
    let server = made(None);
    let version = ciphertax_wire::sqlite::version();
    assert_eq!(SQLITE.version, version);
    let settings = server.settings();
    // `4.14.0 community`, `OpenSSL 3.5.5 27 Jan 2026`
    let sqlcipher = settings["cipher_version"].rsplit_once('.').unwrap().0.to_owned();
    let mut encrypted = open(&made(Some(SqlCipher::default())));
    let openssl = encrypted
        .status()
        .unwrap()
        .value("cipher_provider_version")
        .to_owned();
    let openssl = openssl
        .split_whitespace()
        .nth(1)
        .unwrap()
        .rsplit_once('.')
        .unwrap()
        .0
        .to_owned();
    let said = format!("SQLCipher {sqlcipher} with OpenSSL {openssl}");
    assert_eq!(SQLITE.tls_library, said);
}

#[test]
fn a_plain_file_is_sqlites_own_and_anybody_can_read_it() {
    let server = made(None);
    let options = options(&server, &Storage::default());
    fill(&options);
    let file = fs::read(options.path()).unwrap();
    assert!(file.starts_with(b"SQLite format 3\0") && contains(&file, b"row number 77"));
    let connection = foreign(options.path());
    let count: u32 = connection
        .query_row("SELECT COUNT(*) FROM rows", (), |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1000);
    assert!(options.with_wrong_passphrase().is_none());
}

#[test]
fn an_encrypted_file_is_read_by_its_passphrase_and_settings_alone() {
    for settings in SETTINGS {
        let server = made(Some(settings));
        let options = options(&server, &Storage::default());
        fill(&options);
        let file = fs::read(options.path()).unwrap();
        assert!(!contains(&file, b"SQLite format 3") && !contains(&file, b"row number"));
        assert_eq!(file.len() % settings.page_size as usize, 0);

        // What is said to SQLCipher here was written for this test alone.
        let passphrase = server.password().expose();
        let said = |passphrase: &str, settings: SqlCipher| {
            let connection = foreign(options.path());
            let SqlCipher {
                kdf_iter,
                page_size,
                hmac,
                ..
            } = settings;
            let key = format!(
                "PRAGMA key = '{passphrase}'; PRAGMA cipher_page_size = {page_size}; \
                 PRAGMA kdf_iter = {kdf_iter}; PRAGMA cipher_use_hmac = {hmac};"
            );
            connection.execute_batch(&key).unwrap();
            connection.query_row("SELECT COUNT(*) FROM rows", (), |row| row.get::<_, u32>(0))
        };
        assert_eq!(said(passphrase, settings).unwrap(), 1000);
        assert!(said("another", settings).is_err());
        let other_rounds = SqlCipher {
            kdf_iter: settings.kdf_iter + 1,
            ..settings
        };
        assert!(said(passphrase, other_rounds).is_err());

        for wrong in [
            options.with_wrong_passphrase().unwrap(),
            options.without_passphrase(),
        ] {
            let error = Session::open(&wrong).err().unwrap();
            assert!(is_wrong_key(&error), "{error}");
            assert!(!error.to_string().contains(passphrase), "{error}");
        }
        // The rows are what was written, page by page.
        let mut session = open(&server);
        if settings.hmac {
            assert_eq!(session.query("PRAGMA cipher_integrity_check").unwrap(), []);
        }
        assert_eq!(session.query("PRAGMA integrity_check").unwrap()[0].text(0), "ok");
    }
}

#[test]
fn an_arm_is_proved_by_sqlciphers_word_the_disk_and_a_wrong_passphrase() {
    for settings in [None, Some(SETTINGS[0]), Some(SETTINGS[1])] {
        let server = made(settings);
        let options = options(&server, &Storage::default());
        let ProvedFile {
            proved,
            disk: on_disk,
        } = prove("arm", &options).unwrap();
        let expected = match settings {
            None => Readability::Readable,
            Some(_) => Readability::Encrypted,
        };
        for kind in ["database", "write-ahead log", "rollback journal"] {
            assert_eq!(on_disk.of(kind), Some(expected), "{on_disk:?}");
        }
        let witness = |witness| {
            let mut proofs = proved.proofs.iter();
            proofs
                .find(|proof| proof.witness == witness)
                .map(|proof| format!("{}: {}", proof.claim, proof.evidence))
        };
        let word = witness(Witness::Client).unwrap();
        let disk = witness(Witness::Disk).unwrap();
        match settings {
            None => {
                says(&word, "cipher_status=0 … journal_mode=wal");
                // As its header has it.
                says(&word, "reserved_bytes_per_page=0,");
                assert_eq!(fs::read(options.path()).unwrap()[20], 0);
                says(&disk, "found in its write-ahead log");
                assert_eq!(witness(Witness::Authentication), None);
            }
            Some(settings) => {
                let rounds = format!("kdf_iter={}", settings.kdf_iter);
                // 16 for the initialization vector and 64 for HMAC-SHA512, which are not given back without it.
                let reserved = "reserved_bytes_per_page=80,";
                for words in ["cipher_status=1", "cipher_provider=openssl", &rounds, reserved] {
                    assert!(word.contains(words), "{words}: {word}");
                }
                says(&disk, "cannot be read on the disk");
                let words = "no passphrase";
                assert!(witness(Witness::Authentication).unwrap().contains(words));
            }
        }
        // What it searched is gone, and no file has the passphrase.
        let left: Vec<PathBuf> = fs::read_dir(options.path().parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(left.iter().all(|path| path.is_file()), "{left:?}");
        if settings.is_some() {
            let passphrase = server.password().expose().as_bytes();
            assert_eq!(files_with(server.folder(), passphrase), Vec::<PathBuf>::new());
            assert!(
                !proved
                    .proofs
                    .iter()
                    .any(|proof| contains(proof.evidence.as_bytes(), passphrase))
            );
        }
    }
}

/// An arm that says what its file is not.
#[test]
fn a_file_that_is_not_as_its_arm_says_is_not_measured() {
    let encrypted = made(Some(SETTINGS[1]));
    let encrypted_options = options(&encrypted, &Storage::default());
    let as_plain = prove("plain", &encrypted_options.without_passphrase()).unwrap_err();
    says(&as_plain, "arm plain cannot be measured");

    let plain = made(None);
    let plain_options = options(&plain, &Storage::default());
    let cipher = encrypted_options.cipher().cloned();
    let as_encrypted = ConnectOptions::new(plain_options.path(), cipher, 1024);
    let refusal = prove("encrypted", &as_encrypted).unwrap_err();
    says(&refusal, "arm encrypted cannot be measured");

    // Rollback journal in place of a log.
    let connection = Connection::open(plain_options.path()).unwrap();
    connection
        .query_row("PRAGMA journal_mode = DELETE", (), |_| Ok(()))
        .unwrap();
    drop(connection);
    says(
        prove("plain", &plain_options).unwrap_err(),
        "journal_mode = \"delete\"; expected \"wal\"",
    );
}

/// What stays readable if somebody asks for temporary files on the disk, which ciphertax does not: SQLCipher does not
/// encrypt them.
#[test]
fn temporary_files_stay_in_memory_as_sqlcipher_is_built() {
    let server = made(Some(SETTINGS[1]));
    let mut session = open(&server);
    let built = session.query("PRAGMA compile_options").unwrap();
    assert!(built.iter().any(|row| row.text(0) == "TEMP_STORE=2"), "{built:?}");
    assert_eq!(session.status().unwrap().value("temp_store"), "0");
}

#[test]
fn the_size_on_disk_is_that_of_the_file_and_its_log() {
    let server = made(None);
    let options = options(&server, &Storage::default());
    let mut session = open(&server);
    session.command("CREATE TABLE t (x BLOB)").unwrap();
    session
        .command("INSERT INTO t VALUES (randomblob(1000000))")
        .unwrap();
    let with_log = data_size(options.path()).unwrap();
    let sizes: u64 = ["ciphertax.db", "ciphertax.db-wal"]
        .map(|name| fs::metadata(options.path().with_file_name(name)).unwrap().len())
        .iter()
        .sum();
    assert_eq!(with_log, sizes);
    assert!(with_log > 1_000_000);
    session.close().unwrap();
    let size = data_size(options.path()).unwrap();
    assert_eq!(size, fs::metadata(options.path()).unwrap().len());
}

/// A file system of one mebibyte is a test of its own elsewhere; SQLite itself can be held to a number of pages.
#[test]
fn a_full_disk_is_told_from_other_errors() {
    let server = made(None);
    let mut session = open(&server);
    session.command("CREATE TABLE t (x BLOB)").unwrap();
    session.command("PRAGMA max_page_count = 10").unwrap();
    let error = session
        .command("INSERT INTO t VALUES (randomblob(1000000))")
        .unwrap_err();
    let is_full = is_disk_full(&error) && error.to_string().contains("full");
    assert!(is_full, "{error}");
    let error = session.command("INSERT INTO nowhere VALUES (1)").unwrap_err();
    assert!(!is_disk_full(&error), "{error}");
}

#[test]
fn the_folder_goes_with_the_database() {
    let server = made(Some(SETTINGS[1]));
    let folder = server.folder().to_owned();
    assert!(
        ciphertax_lab::disk_search::search(&folder, b"SQLite format 3")
            .unwrap()
            .files
            > 0
    );
    server.stop().unwrap();
    assert!(!folder.exists());
}

fn made(sqlcipher: Option<SqlCipher>) -> PrivateServer {
    let at_rest = AtRest {
        sqlcipher,
        ..AtRest::default()
    };
    PrivateServer::builder(&SQLITE).at_rest(at_rest).start().unwrap()
}

fn open(server: &PrivateServer) -> Session {
    Session::open(&options(server, &Storage::default())).unwrap().0
}

/// A thousand rows, written into the file itself.
fn fill(options: &ConnectOptions) {
    let (mut session, _) = Session::open(options).unwrap();
    session
        .command("CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT)")
        .unwrap();
    session
        .command(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000) \
             INSERT INTO rows SELECT n, 'row number ' || n FROM n",
        )
        .unwrap();
    session.close().unwrap();
}

/// As somebody else would open it.
fn foreign(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap()
}
