//! Proof that a server encrypts on the disk what its arm says, and nothing else.

use ciphertax_base::{Proof, Witness};
use ciphertax_model::{AtRest, AtRestPart};
use ciphertax_records::{DiskRecord, FilesOnDisk, Readability};
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::SqlSession as _;

use super::canary::{OnDisk, SCHEMA, asked, look_at_the_disk, look_in_passing};
use super::file_kind::FileKind;
use super::{first, variables};
use crate::catalogue::{AtRestControl, MySqlVariant};
use crate::error::Result;
use crate::proof::{Objection, ProvedAtRest, proof};
use crate::server::PrivateServer;

/// Proves what servers of MySQL's family encrypt at rest, by a canary that is searched for in all files of one of them. It
/// must have been started with [`DISK_PROOF_OPTIONS`](super::DISK_PROOF_OPTIONS), and is good for nothing else then; the one
/// that is measured differs from it in nothing but memory.
pub(crate) fn prove_at_rest(server: &PrivateServer) -> Result<ProvedAtRest, Objection> {
    let at_rest = server.at_rest;
    let (_, variant) = asked(server)?;
    let on_disk = look_at_the_disk(server)?;
    let words = by_server(variant, &at_rest, &ask(server)?)?;
    let doublewrite = server.settings().get("innodb_doublewrite");
    let writes_twice = doublewrite.is_none_or(|on| on != "OFF");
    let is_written = |kind: FileKind| match kind {
        // Those of the template are there, and nothing comes to lie there.
        FileKind::Doublewrite => writes_twice,
        // Where the undo log has tablespaces of its own, only pages written twice pass through it, and the next ones
        // overwrite them.
        FileKind::SystemTablespace => writes_twice && !on_disk.kinds.contains_key(&FileKind::UndoLog),
        _ => true,
    };
    let is_open = |kind: FileKind| is_written(kind) && kind.is_open(variant, &at_rest);
    contradiction(variant, &at_rest, &on_disk, is_open).map_err(Objection::Disproved)?;
    let disk = disk_record(variant, &at_rest, &on_disk);
    let list = |readability| list(disk.kinds(readability));
    let on_disk = proof(
        Witness::Disk,
        "on a server like it with little memory, a canary lies in plaintext in every kind of file that the arm does not \
         encrypt, and nowhere else",
        &format!(
            "{} bytes were searched; the canary can be read in: {}; encrypted are: {}; neither encrypted nor with a canary \
             are: {}",
            on_disk.bytes,
            list(Readability::Readable),
            list(Readability::Encrypted),
            list(Readability::Unencrypted)
        ),
    );
    Ok(ProvedAtRest {
        proofs: vec![words, on_disk],
        disk,
    })
}

/// Proves the same of the server that is measured, as far as that leaves it as it was: by its own word, and by a canary in its
/// tables and logs.
pub(crate) fn prove_measured_at_rest(server: &PrivateServer) -> Result<Vec<Proof>, Objection> {
    let at_rest = server.at_rest;
    let (_, variant) = asked(server)?;
    let (on_disk, words) = look_in_passing(server, || ask(server))?;
    let words = by_server(variant, &at_rest, &words)?;
    let is_open = |kind: FileKind| kind.is_written_at_once() && kind.is_open(variant, &at_rest);
    contradiction(variant, &at_rest, &on_disk, is_open).map_err(Objection::Disproved)?;
    let on_disk = proof(
        Witness::Disk,
        "the measured server encrypts the row of a canary where the arm says so, and nowhere else",
        &format!(
            "{} bytes were searched; the canary can be read in: {}",
            on_disk.bytes,
            list(on_disk.readable().map(FileKind::name))
        ),
    );
    Ok(vec![words, on_disk])
}

/// What the server says of itself and of the tables with the canary.
fn ask(server: &PrivateServer) -> Result<Vec<String>> {
    let (asked, variant) = asked(server)?;
    asked.run(async |_, session| words_of_server(session, variant, SCHEMA).await)
}

fn by_server(variant: &MySqlVariant, at_rest: &AtRest, words: &[String]) -> Result<Proof, Objection> {
    match objection(variant, at_rest, words) {
        Some(problem) => Err(Objection::Disproved(problem)),
        None => Ok(proof(
            Witness::Server,
            "encrypts on the disk what the arm says",
            &words.join(", "),
        )),
    }
}

/// What stays readable.
fn disk_record(variant: &MySqlVariant, at_rest: &AtRest, on_disk: &OnDisk) -> DiskRecord {
    let readability = |kind: FileKind, readable| match readable {
        true => Readability::Readable,
        false if kind.is_hidden(variant, at_rest) => Readability::Encrypted,
        false => Readability::Unencrypted,
    };
    let files = on_disk.kinds.iter().map(|(kind, readable)| FilesOnDisk {
        kind: kind.name().to_owned(),
        readability: readability(*kind, *readable),
    });
    // Whatever nobody knew to hold rows, and does.
    let others = on_disk.others.iter().map(|file| FilesOnDisk {
        kind: file.display().to_string(),
        readability: Readability::Readable,
    });
    DiskRecord {
        searched_bytes: on_disk.bytes,
        files: files.chain(others).collect(),
    }
}

/// Which kinds of files are not as the arm says; in those that `is_open` names the canary must be.
fn contradiction(
    variant: &MySqlVariant,
    at_rest: &AtRest,
    on_disk: &OnDisk,
    is_open: impl Fn(FileKind) -> bool,
) -> Result<(), String> {
    if on_disk.leaks_beneath {
        return Err("a canary can be read beneath the file system, in a file without a name".into());
    }
    let kinds_that = |is_wrong: &dyn Fn(FileKind, bool) -> bool| {
        let kinds = on_disk.kinds.iter();
        let wrong = kinds.filter(|(kind, readable)| is_wrong(**kind, **readable));
        let names: Vec<&str> = wrong.map(|(kind, _)| kind.name()).collect();
        names
    };
    let leaks = kinds_that(&|kind, readable| readable && kind.is_hidden(variant, at_rest));
    if !leaks.is_empty() {
        let leaks = list(leaks.into_iter());
        return Err(format!(
            "a canary can be read on the disk, in {leaks}, which should be encrypted"
        ));
    }
    let hidden = kinds_that(&|kind, readable| !readable && is_open(kind) && !on_disk.unseen.contains(&kind));
    if !hidden.is_empty() {
        let hidden = list(hidden.into_iter());
        return Err(format!(
            "a canary cannot be read on the disk in {hidden}, which should be in plaintext"
        ));
    }
    Ok(())
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}

/// What MariaDB says of a tablespace that is encrypted, and MySQL of one and of its keyring.
const ENCRYPTED: &str = "encrypted";
const ACTIVE: &str = "Active";

/// Facts as `name=value`: of every switch that the server has, and of the tablespaces of a schema.
pub(super) async fn words_of_server(
    session: &mut Session,
    variant: &MySqlVariant,
    schema: &str,
) -> Result<Vec<String>, WireError> {
    let mut words = Vec::new();
    for name in AtRestPart::ALL
        .into_iter()
        .flat_map(|part| variables(variant, part))
    {
        let value = first(&session.query(&format!("SELECT @@GLOBAL.{name}")).await?);
        words.push(word(name, if is_on(&value) { "ON" } else { "OFF" }));
    }
    for (name, question) in questions(variant, schema) {
        words.push(word(name, &first(&session.query(&question).await?)));
    }
    Ok(words)
}

fn questions(variant: &MySqlVariant, schema: &str) -> Vec<(&'static str, String)> {
    let in_words = |condition: &str| format!("IF({condition}, '{ENCRYPTED}', 'plaintext')");
    match variant.at_rest {
        AtRestControl::None => Vec::new(),
        AtRestControl::FileKeyManagement { .. } => {
            let of = |name: &str| {
                format!(
                    "SELECT {} FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE NAME = '{name}'",
                    in_words("SUM(ENCRYPTION_SCHEME = 1 AND MIN_KEY_VERSION > 0) > 0")
                )
            };
            vec![
                ("tables", of(&format!("{schema}/n"))),
                ("system_tablespace", of("innodb_system")),
            ]
        }
        AtRestControl::KeyringComponent => {
            let of = |name: &str| {
                format!(
                    "SELECT {} FROM information_schema.INNODB_TABLESPACES WHERE NAME = '{name}'",
                    in_words("SUM(ENCRYPTION = 'Y') > 0")
                )
            };
            let keyring = "SELECT STATUS_VALUE FROM performance_schema.keyring_component_status \
                           WHERE STATUS_KEY = 'Component_status'";
            vec![
                ("tables", of(&format!("{schema}/n"))),
                ("general_tablespace", of("general")),
                ("undo_tablespace", of("innodb_undo_001")),
                ("system_tables", of("mysql")),
                ("keyring", keyring.to_owned()),
            ]
        }
    }
}

/// What of these words contradicts what the arm says.
pub(super) fn objection(variant: &MySqlVariant, at_rest: &AtRest, words: &[String]) -> Option<String> {
    let switches = AtRestPart::ALL.into_iter().flat_map(|part| {
        let is_on = if at_rest.encrypts(part) { "ON" } else { "OFF" };
        variables(variant, part)
            .into_iter()
            .map(move |name| word(name, is_on))
    });
    let encrypted = |name: &str, part: AtRestPart| {
        word(
            name,
            if at_rest.encrypts(part) {
                ENCRYPTED
            } else {
                "plaintext"
            },
        )
    };
    let others = match variant.at_rest {
        AtRestControl::None => Vec::new(),
        AtRestControl::FileKeyManagement { .. } => vec![
            encrypted("tables", AtRestPart::Tables),
            encrypted("system_tablespace", AtRestPart::Tables),
        ],
        AtRestControl::KeyringComponent => {
            let has_keyring = at_rest.parts().next().is_some();
            vec![
                encrypted("tables", AtRestPart::Tables),
                encrypted("general_tablespace", AtRestPart::Tables),
                encrypted("undo_tablespace", AtRestPart::UndoLog),
                encrypted("system_tables", AtRestPart::SystemTables),
                word("keyring", if has_keyring { ACTIVE } else { "" }),
            ]
        }
    };
    let missing: Vec<String> = switches
        .chain(others)
        .filter(|word| !words.contains(word))
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the server should say {}, and says {}",
            missing.join(", "),
            words.join(", ")
        )
    })
}

/// Releases say `1`, `ON`, or which tables must be encrypted.
fn is_on(value: &str) -> bool {
    matches!(value, "1" | "ON" | "FORCE")
}

fn word(name: &str, value: &str) -> String {
    format!("{name}={value}")
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::says;
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::catalogue::MYSQL;
    use crate::mysql::testing::variants;

    /// A disk with these kinds of files, of which the canary can be read in those that are true.
    fn on_disk(kinds: &[(FileKind, bool)]) -> OnDisk {
        OnDisk {
            kinds: BTreeMap::from_iter(kinds.iter().copied()),
            others: BTreeSet::from(["data/unknown".into()]),
            unseen: BTreeSet::new(),
            leaks_beneath: false,
            bytes: 1,
        }
    }

    const TABLES: AtRest = AtRest {
        tables: true,
        redo_log: false,
        undo_log: false,
        binary_log: false,
        temporary: false,
        aria: false,
        system_tables: false,
        algorithm: None,
        encryption_threads: 0,
        file_system: None,
        columns: None,
        sqlcipher: None,
    };

    #[test]
    fn a_disk_that_is_not_as_the_arm_says_is_named() {
        let (_, variant) = variants().find(|(entry, _)| *entry == &MYSQL).unwrap();
        let objection = |kinds: &[(FileKind, bool)]| {
            let is_open = |kind: FileKind| kind.is_open(&variant, &TABLES);
            contradiction(&variant, &TABLES, &on_disk(kinds), is_open)
        };
        let unseen = OnDisk {
            unseen: BTreeSet::from([FileKind::RedoLog]),
            ..on_disk(&[(FileKind::RedoLog, false)])
        };
        assert_eq!(contradiction(&variant, &TABLES, &unseen, |_| true), Ok(()));
        let leaks = OnDisk {
            leaks_beneath: true,
            ..unseen
        };
        assert!(contradiction(&variant, &TABLES, &leaks, |_| true).is_err());
        let found = objection(&[(FileKind::Table, false), (FileKind::RedoLog, true)]);
        assert_eq!(found, Ok(()));
        let leak = objection(&[(FileKind::Table, true)]).unwrap_err();
        says(&leak, "can be read on the disk, in tables");
        let secret = objection(&[(FileKind::RedoLog, false)]).unwrap_err();
        says(&secret, "cannot be read on the disk in redo log");
    }

    #[test]
    fn what_nothing_encrypts_is_never_said_to_be_encrypted() {
        let (_, variant) = variants().find(|(entry, _)| *entry == &MYSQL).unwrap();
        let kinds = [
            (FileKind::Table, false),
            (FileKind::BinaryLog, true),
            // Half of what goes through them is encrypted.
            (FileKind::Doublewrite, false),
            (FileKind::TemporaryTablespace, false),
        ];
        let record = disk_record(&variant, &TABLES, &on_disk(&kinds));
        assert_eq!(record.of("tables"), Some(Readability::Encrypted));
        assert_eq!(record.of("binary log"), Some(Readability::Readable));
        assert_eq!(record.of("doublewrite files"), Some(Readability::Unencrypted));
        assert_eq!(record.of("temporary tablespaces"), Some(Readability::Unencrypted));
        assert_eq!(record.of("data/unknown"), Some(Readability::Readable));
    }
}
