//! What can be read in the files of a server, and what cannot.

use ciphertax_lab::catalogue::*;
use ciphertax_lab::disk_proof::{prove, prove_measured};
use ciphertax_lab::mysql::at_rest::{FileKind, look_at_the_disk};
use ciphertax_model::AtRestAlgorithm;
use ciphertax_model::AtRestPart::{Aria, BinaryLog, Temporary, UndoLog};

use super::common::{ask, is_fetched, plain, to_be_searched};
use crate::prelude::*;

/// Which kinds of files a server writes rows to, and the parts that hide them; none for those that stay readable.
type Files = &'static [(FileKind, &'static [AtRestPart])];

/// Of every MariaDB.
const MARIADBS_FILES: Files = &[
    (FileKind::Table, &[Tables]),
    (FileKind::SystemTablespace, &[Tables]),
    (FileKind::RedoLog, &[RedoLog]),
    (FileKind::BinaryLog, &[BinaryLog]),
    (FileKind::TemporaryFile, &[Temporary]),
    (FileKind::AriaTable, &[Aria]),
    (FileKind::AriaLog, &[]),
];
const MARIADB_FILES: Files = &[
    (FileKind::TemporaryTablespace, &[Temporary]),
    (FileKind::TemporaryTable, &[]),
];
/// Besides, where the undo log has tablespaces of its own.
const UNDO_FILES: Files = &[(FileKind::UndoLog, &[Tables])];
const MARIADB_10_2_FILES: Files = &[
    (FileKind::TemporaryTablespace, &[]),
    (FileKind::TemporaryTable, &[Temporary, Aria]),
    // Its system tables.
    (FileKind::MyIsamTable, &[]),
];

const MYSQL_FILES: Files = &[
    (FileKind::Table, &[Tables]),
    (FileKind::GeneralTablespace, &[Tables]),
    (FileKind::SystemTables, &[SystemTables]),
    (FileKind::UndoLog, &[UndoLog]),
    (FileKind::RedoLog, &[RedoLog]),
    (FileKind::Doublewrite, &[Tables, SystemTables, UndoLog]),
    (FileKind::BinaryLog, &[BinaryLog]),
    (FileKind::TemporaryTablespace, &[]),
];

#[test]
fn mariadb_hides_what_it_is_told_to() {
    hides_what_it_is_told_to(&MARIADB, &[MARIADBS_FILES, MARIADB_FILES]);
}

/// No part, and every part; and of one server of each kind two halves of them, so that each is seen with and without the
/// others.
fn hides_what_it_is_told_to(entry: &'static Entry, files: &[Files]) {
    if !is_fetched(entry) {
        return;
    }
    let parts = entry.capabilities.at_rest.parts;
    let every_other = |first: usize| parts.iter().skip(first).step_by(2).copied();
    let counter_mode = entry
        .capabilities
        .at_rest
        .algorithms
        .contains(&AtRestAlgorithm::AesCtr);
    let all = AtRest::from_iter(parts.iter().copied());
    let all = AtRest {
        algorithm: counter_mode.then_some(AtRestAlgorithm::AesCtr),
        ..all
    };
    let halves = match [&MARIADB, &MARIADB_10_2, &MYSQL].contains(&entry) {
        true => vec![every_other(0).collect(), every_other(1).collect()],
        false => Vec::new(),
    };
    for at_rest in [AtRest::default(), all].into_iter().chain(halves) {
        let server = to_be_searched(entry, at_rest).start().unwrap();
        let on_disk = look_at_the_disk(&server).unwrap_or_else(|error| panic!("{at_rest}: {error}"));
        let readable: BTreeSet<FileKind> = on_disk.readable().collect();
        // Now and then Aria writes an index page with what lay in memory before; it is reported as what it is.
        let is_index = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "MAI");
        let are_indexes = on_disk.others.iter().all(|file| is_index(&file));
        assert!(are_indexes, "{at_rest}: {on_disk:?}");
        for (kind, parts) in files.iter().copied().flatten() {
            let hiding = parts.iter().filter(|part| at_rest.encrypts(**part)).count();
            let is_hidden = !parts.is_empty() && hiding == parts.len();
            if hiding > 0 && !is_hidden {
                // Some of it is hidden, and it is a matter of chance what else is there.
                continue;
            }
            let has_undo_tablespaces = on_disk.kinds.contains_key(&FileKind::UndoLog);
            if *kind == FileKind::SystemTablespace && has_undo_tablespaces && !is_hidden {
                // Only pages that are written twice pass through it, and the next ones overwrite them.
                continue;
            }
            assert!(on_disk.kinds.contains_key(kind), "{at_rest}: there is no {kind}");
            let found = readable.contains(kind);
            assert_eq!(found, !is_hidden, "{at_rest}: {kind}: {on_disk:?}");
        }
    }
}

#[test]
fn the_proof_says_what_stays_readable_and_the_server_agrees() {
    for (entry, parts) in [(&MARIADB, vec![Tables, Aria]), (&MYSQL, vec![Tables, UndoLog])] {
        if !is_fetched(entry) {
            continue;
        }
        let server = to_be_searched(entry, AtRest::from_iter(parts)).start().unwrap();
        let proved = prove("encrypted", &server).unwrap();
        let of = |kind: FileKind| proved.disk.of(kind.name());
        assert_eq!(of(FileKind::Table), Some(Readability::Encrypted));
        assert_eq!(of(FileKind::RedoLog), Some(Readability::Readable));
        assert_eq!(of(FileKind::BinaryLog), Some(Readability::Readable));
        let [server, disk] = &proved.proofs[..] else {
            panic!("{proved:?}")
        };
        assert!(server.evidence.contains("tables=encrypted"), "{server:?}");
        assert!(disk.evidence.contains("bytes were searched"), "{disk:?}");
    }
}

#[test]
fn a_server_without_doublewrite_and_binary_log_is_proved_too() {
    for entry in [&MARIADB, &MYSQL] {
        if !is_fetched(entry) {
            continue;
        }
        let storage = Storage {
            doublewrite: Some(false),
            ..Storage::default()
        };
        let server = disk_proof::to_be_searched(plain(entry).storage(storage))
            .start()
            .unwrap();
        let proved = prove("plain", &server).unwrap();
        let of = |kind: FileKind| proved.disk.of(kind.name());
        assert_eq!(of(FileKind::Table), Some(Readability::Readable));
        assert_eq!(of(FileKind::BinaryLog), None);
    }
}

/// What is measured afterwards stays as it was.
#[test]
fn the_measured_server_itself_is_proved_and_left_as_it_was() {
    is_proved_and_left(&MARIADB, &[Tables, BinaryLog]);
    is_proved_and_left(&MYSQL, &[Tables, RedoLog]);
}

fn is_proved_and_left(entry: &'static Entry, parts: &[AtRestPart]) {
    if !is_fetched(entry) {
        return;
    }
    let storage = Storage {
        binary_log: parts.contains(&BinaryLog),
        ..Storage::default()
    };
    let at_rest = AtRest::from_iter(parts.iter().copied());
    let server = plain(entry).storage(storage).at_rest(at_rest).start().unwrap();
    let schemas = || ask(&server, "SELECT COUNT(*) FROM information_schema.SCHEMATA");
    let before = schemas();
    let proofs = prove_measured("encrypted", &server).unwrap();
    let [server_says, disk] = &proofs[..] else {
        panic!("{proofs:?}")
    };
    let says = |words: &str| server_says.evidence.contains(words);
    assert!(says("tables=encrypted") == at_rest.tables, "{server_says:?}");
    let found = disk.evidence.split_once("can be read in: ").unwrap().1;
    let found: BTreeSet<&str> = found.split(", ").collect();
    assert_eq!(found.contains("tables"), !at_rest.tables, "{disk:?}");
    assert_eq!(found.contains("redo log"), !at_rest.redo_log, "{disk:?}");
    assert!(!found.contains("binary log"), "{disk:?}");
    assert_eq!(schemas(), before);
}

#[test]
fn an_arm_that_is_not_what_it_says_is_disproved() {
    if !is_fetched(&MARIADB) {
        return;
    }
    let server = to_be_searched(&MARIADB, AtRest::from_iter([RedoLog]))
        .option("--innodb-encrypt-log=OFF")
        .start()
        .unwrap();
    for error in [
        prove_measured("liar", &server).unwrap_err().to_string(),
        prove("liar", &server).unwrap_err().to_string(),
    ] {
        assert!(error.contains("arm liar is not what it says"), "{error}");
        assert!(error.contains("innodb_encrypt_log=ON"), "{error}");
    }
}

mod test_all {
    use super::*;

    #[test]
    fn mariadb_11_8_hides_what_it_is_told_to() {
        hides_what_it_is_told_to(&MARIADB_11_8, &[MARIADBS_FILES, MARIADB_FILES, UNDO_FILES]);
    }

    #[test]
    fn mariadb_10_2_hides_what_it_is_told_to() {
        hides_what_it_is_told_to(&MARIADB_10_2, &[MARIADBS_FILES, MARIADB_10_2_FILES]);
    }

    #[test]
    fn mariadb_10_11_with_wolfssl_hides_what_it_is_told_to() {
        hides_what_it_is_told_to(&MARIADB_10_11_WOLFSSL, &[MARIADBS_FILES, MARIADB_FILES]);
    }

    #[test]
    fn mariadb_11_4_with_wolfssl_hides_what_it_is_told_to() {
        hides_what_it_is_told_to(
            &MARIADB_11_4_WOLFSSL,
            &[MARIADBS_FILES, MARIADB_FILES, UNDO_FILES],
        );
    }

    #[test]
    fn mariadb_10_2_is_proved_and_left_as_it_was() {
        is_proved_and_left(&MARIADB_10_2, &[RedoLog]);
    }

    #[test]
    fn mysql_hides_what_it_is_told_to() {
        hides_what_it_is_told_to(&MYSQL, &[MYSQL_FILES]);
    }
}
