//! What real servers encrypt on the disk: a canary is in every kind of file that they write in plaintext, and in none that
//! they were told to encrypt; without their key they open nothing.
//!
//! All servers are fetched, since the distribution's MariaDB has its plugins in another package, unless they are in the
//! user's cache.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ciphertax_lab::catalogue::{
    Entry, MARIADB, MARIADB_10_2, MARIADB_10_11_WOLFSSL, MARIADB_11_4_WOLFSSL, MARIADB_11_8, MYSQL,
};
use ciphertax_lab::mysql::at_rest::{
    DISK_PROOF_OPTIONS, FileKind, look_at_the_disk, names_a_missing_key, prove_at_rest,
};
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_model::AtRestPart::{Aria, BinaryLog, RedoLog, SystemTables, Tables, Temporary, UndoLog};
use ciphertax_model::{AtRest, AtRestAlgorithm, AtRestPart, Storage};
use ciphertax_testkit::{contains, fetched, files_with, within};

ciphertax_testkit::plays_roles!();

/// Which kinds of files a server writes rows to, and the parts that hide them; none for those that stay readable.
type Files = &'static [(FileKind, &'static [AtRestPart])];

const MARIADB_FILES: Files = &[
    (FileKind::Table, &[Tables]),
    (FileKind::SystemTablespace, &[Tables]),
    (FileKind::RedoLog, &[RedoLog]),
    (FileKind::BinaryLog, &[BinaryLog]),
    (FileKind::TemporaryTablespace, &[Temporary]),
    (FileKind::TemporaryFile, &[Temporary]),
    (FileKind::TemporaryTable, &[]),
    (FileKind::AriaTable, &[Aria]),
    (FileKind::AriaLog, &[]),
];

/// Its undo log has tablespaces of its own.
const MARIADB_11_FILES: Files = &[
    (FileKind::Table, &[Tables]),
    (FileKind::SystemTablespace, &[Tables]),
    (FileKind::UndoLog, &[Tables]),
    (FileKind::RedoLog, &[RedoLog]),
    (FileKind::BinaryLog, &[BinaryLog]),
    (FileKind::TemporaryTablespace, &[Temporary]),
    (FileKind::TemporaryFile, &[Temporary]),
    (FileKind::TemporaryTable, &[]),
    (FileKind::AriaTable, &[Aria]),
    (FileKind::AriaLog, &[]),
];

const MARIADB_10_2_FILES: Files = &[
    (FileKind::Table, &[Tables]),
    (FileKind::SystemTablespace, &[Tables]),
    (FileKind::RedoLog, &[RedoLog]),
    (FileKind::BinaryLog, &[BinaryLog]),
    (FileKind::TemporaryTablespace, &[]),
    (FileKind::TemporaryFile, &[Temporary]),
    (FileKind::TemporaryTable, &[Temporary, Aria]),
    (FileKind::AriaTable, &[Aria]),
    (FileKind::AriaLog, &[]),
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
    hides_what_it_is_told_to(&MARIADB, MARIADB_FILES);
}

#[test]
fn mariadb_11_8_hides_what_it_is_told_to() {
    hides_what_it_is_told_to(&MARIADB_11_8, MARIADB_11_FILES);
}

#[test]
fn mariadb_10_2_hides_what_it_is_told_to() {
    hides_what_it_is_told_to(&MARIADB_10_2, MARIADB_10_2_FILES);
}

#[test]
fn mariadb_10_11_with_wolfssl_hides_what_it_is_told_to() {
    hides_what_it_is_told_to(&MARIADB_10_11_WOLFSSL, MARIADB_FILES);
}

#[test]
fn mariadb_11_4_with_wolfssl_hides_what_it_is_told_to() {
    hides_what_it_is_told_to(&MARIADB_11_4_WOLFSSL, MARIADB_11_FILES);
}

#[test]
fn mysql_hides_what_it_is_told_to() {
    hides_what_it_is_told_to(&MYSQL, MYSQL_FILES);
}

/// No part, every part, and two halves of them: so each is seen with and without the others.
fn hides_what_it_is_told_to(entry: &'static Entry, files: Files) {
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
    for at_rest in [
        AtRest::default(),
        every_other(0).collect(),
        every_other(1).collect(),
        AtRest {
            algorithm: counter_mode.then_some(AtRestAlgorithm::AesCtr),
            ..all
        },
    ] {
        let server = to_be_searched(entry, at_rest).start().unwrap();
        let on_disk = look_at_the_disk(&server).unwrap_or_else(|error| panic!("{at_rest}: {error}"));
        let readable: BTreeSet<FileKind> = on_disk.readable().collect();
        for (kind, parts) in files {
            let hiding = parts.iter().filter(|part| at_rest.encrypts(**part)).count();
            let is_hidden = !parts.is_empty() && hiding == parts.len();
            if hiding > 0 && !is_hidden {
                // Some of it is hidden, and it is a matter of chance what else is there.
                continue;
            }
            assert!(on_disk.kinds.contains_key(kind), "{at_rest}: there is no {kind}");
            assert_eq!(
                readable.contains(kind),
                !is_hidden,
                "{at_rest}: {kind}: {on_disk:?}"
            );
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
        let proved = prove_at_rest("encrypted", &server).unwrap();
        assert!(proved.hidden.contains(&FileKind::Table) && proved.readable.contains(&FileKind::RedoLog));
        let [server, disk] = &proved.proofs[..] else {
            panic!("{proved:?}")
        };
        assert!(server.evidence.contains("tables=encrypted"), "{server:?}");
        assert!(disk.evidence.contains("bytes were searched"), "{disk:?}");
    }
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
    let error = prove_at_rest("liar", &server).unwrap_err().to_string();
    assert!(error.contains("arm liar is not what it says"), "{error}");
    assert!(error.contains("innodb_encrypt_log=ON"), "{error}");
}

#[test]
fn keys_are_for_nobody_else_and_go_with_the_server() {
    for entry in [&MARIADB, &MYSQL] {
        if !is_fetched(entry) {
            continue;
        }
        let server = plain(entry)
            .at_rest(AtRest::from_iter([Tables, RedoLog]))
            .start()
            .unwrap();
        let keys = keys_of(&server);
        let mode = fs::metadata(&keys).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", keys.display());
        let folder = server.folder().to_owned();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        if let Some((_, key)) = fs::read_to_string(&keys).unwrap().trim().split_once(';') {
            assert_eq!(files_with(&folder, key), [keys.as_path()]);
            let line = fs::read(format!("/proc/{}/cmdline", server.pids()[0])).unwrap();
            assert!(!contains(&line, key));
        }
        server.stop().unwrap();
        assert!(!keys.exists() && !folder.exists());
    }
}

#[test]
fn without_its_key_a_server_opens_nothing_and_says_why() {
    for (entry, part) in [
        (&MARIADB, RedoLog),
        (&MARIADB_10_2, RedoLog),
        (&MYSQL, SystemTables),
    ] {
        if !is_fetched(entry) {
            continue;
        }
        let server = plain(entry)
            .at_rest(AtRest::from_iter([Tables, part]))
            .start()
            .unwrap();
        let again = Again::of(&server);
        server.kill_member(server.address()).unwrap();
        assert!(within(Duration::from_secs(10), || !server.is_alive()));
        let keys = keys_of(&server);
        let right = fs::read(&keys).unwrap();
        // Another key, of the same form.
        fs::write(&keys, other_key(&right)).unwrap();
        again.refuses_to_open(&server, "with another key");
        fs::remove_file(&keys).unwrap();
        again.refuses_to_open(&server, "without a key");
        fs::write(&keys, right).unwrap();
        fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
        again.opens(&server);
    }
}

/// A server that can be started once more with what it left.
struct Again {
    words: Vec<std::ffi::OsString>,
    environment: Vec<(String, String)>,
}

impl Again {
    fn of(server: &PrivateServer) -> Self {
        let read = |file| fs::read(format!("/proc/{}/{file}", server.pids()[0])).unwrap();
        let split = |bytes: Vec<u8>| {
            let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
            words.map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let variables = split(read("environ")).into_iter().filter_map(|variable| {
            let variable = String::from_utf8(variable).ok()?;
            let (name, value) = variable.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        // What it ran first, it ran.
        fs::write(server.folder().join("statements"), "").unwrap();
        Self {
            words: split(read("cmdline"))
                .into_iter()
                .map(OsStringExt::from_vec)
                .collect(),
            environment: variables.collect(),
        }
    }

    fn start(&self) -> Child {
        Command::new(&self.words[0])
            .args(&self.words[1..])
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    fn refuses_to_open(&self, server: &PrivateServer, how: &str) {
        let name = server.entry().name;
        let before = fs::metadata(log(server)).unwrap().len();
        let process = RefCell::new(self.start());
        let ended = within(Duration::from_secs(60), || {
            process.borrow_mut().try_wait().unwrap().is_some()
        });
        let said = said_since(server, before);
        let mut process = process.into_inner();
        if !ended {
            process.kill().unwrap();
        }
        let status = process.wait().unwrap();
        assert!(ended && !status.success(), "{name} {how}: {said}");
        // As a start would be told of it.
        assert!(names_a_missing_key(&said), "{name} {how}: {said}");
        assert!(!said.contains("ready for connections"), "{name} {how}: {said}");
    }

    fn opens(&self, server: &PrivateServer) {
        let before = fs::metadata(log(server)).unwrap().len();
        let mut process = self.start();
        let is_ready = within(Duration::from_secs(60), || {
            said_since(server, before).contains("ready for connections")
        });
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(
            is_ready,
            "{}: {}",
            server.entry().name,
            said_since(server, before)
        );
    }
}

/// The same with another digit in the key itself.
fn other_key(keys: &[u8]) -> Vec<u8> {
    const MARK: &str = r#""data":""#;
    let text = String::from_utf8(keys.to_vec()).unwrap();
    let start = match text.find(MARK) {
        Some(mark) => mark + MARK.len(),
        None => text.find(';').unwrap() + 1,
    };
    let mut other = text.into_bytes();
    other[start] = if other[start] == b'7' { b'3' } else { b'7' };
    other
}

fn log(server: &PrivateServer) -> PathBuf {
    server.folder().join("server.log")
}

fn said_since(server: &PrivateServer, start: u64) -> String {
    let text = fs::read(log(server)).unwrap();
    String::from_utf8_lossy(&text[usize::try_from(start).unwrap()..]).into_owned()
}

fn keys_of(server: &PrivateServer) -> PathBuf {
    let file = |name: &str| server.folder().join(name);
    [file("encryption-keys"), file("keyring/keys")]
        .into_iter()
        .find(|keys| Path::new(keys).exists())
        .unwrap()
}

fn plain(entry: &'static Entry) -> PrivateServerBuilder {
    PrivateServer::builder(entry).without_tls()
}

fn to_be_searched(entry: &'static Entry, at_rest: AtRest) -> PrivateServerBuilder {
    let storage = Storage {
        binary_log: true,
        ..Storage::default()
    };
    let builder = plain(entry).storage(storage).at_rest(at_rest);
    DISK_PROOF_OPTIONS
        .into_iter()
        .fold(builder, PrivateServerBuilder::option)
}

/// The distribution's plugins are those of upstream's builds too.
fn is_fetched(entry: &'static Entry) -> bool {
    fetched(&MARIADB).is_some() && fetched(entry).is_some()
}
