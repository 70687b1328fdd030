//! A private file: how it is opened, and the proof that it is encrypted, or is not, as its arm says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_base::{Proof, Secret, Witness};
use ciphertax_model::{AtRest, Storage, Transport};
use ciphertax_records::DiskRecord;
use ciphertax_wire::Expectation;
use ciphertax_wire::sqlite::{Cipher, ConnectOptions, Session, Status, is_wrong_key};

use super::{journal_of, length, log_of};
use crate::disk_search::search;
use crate::error::Error;
use crate::proof::{Objection, ProofError, Proved, files_on_disk, proof, random_text};
use crate::server::PrivateServer;

/// Memory for pages of each session where nothing is asked for, in megabytes.
pub const MEMORY_MB: u32 = 256;

/// How the file of a private database is opened.
pub fn options(server: &PrivateServer, storage: &Storage) -> ConnectOptions {
    let cipher = cipher_of(&server.at_rest, server.password());
    options_in(server.folder(), cipher, storage.memory_mb)
}

pub(super) fn options_in(folder: &Path, cipher: Option<Cipher>, memory_mb: Option<u32>) -> ConnectOptions {
    const KIB: u32 = 1024;
    let cache_kib = memory_mb.unwrap_or(MEMORY_MB).saturating_mul(KIB);
    ConnectOptions::new(&file_in(folder), cipher, cache_kib)
}

/// How a file is encrypted by this passphrase.
pub(super) fn cipher_of(at_rest: &AtRest, passphrase: &Secret) -> Option<Cipher> {
    let settings = at_rest.sqlcipher?;
    Some(Cipher {
        passphrase: passphrase.clone(),
        settings,
    })
}

pub(super) fn file_in(folder: &Path) -> PathBuf {
    folder.join("data").join("ciphertax.db")
}

/// Rows with the canary, on more pages than one.
const ROWS: u32 = 200;

/// What SQLite is built with where sessions do not have the memory that each was given.
const ONE_CACHE: &str = "ENABLE_MEMORY_MANAGEMENT";

/// Proves an arm by three witnesses: SQLite's and SQLCipher's own word, the disk, and a wrong passphrase.
///
/// The disk is that of another file beside the arm's, which is opened in the same way: a canary is written to it and searched
/// for in its write-ahead log, in the file itself after a checkpoint, and in a rollback journal. It is gone afterwards.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(arm: &str, options: &ConnectOptions) -> Result<ProvedFile, ProofError> {
    witnesses(options).map_err(|objection| objection.of(arm))
}

pub(super) fn witnesses(options: &ConnectOptions) -> Result<ProvedFile, Objection> {
    let (mut session, _) = Session::open(options)?;
    let status = session.status()?;
    status.check(options).map_err(Objection::Disproved)?;
    let options_of_build = session.query("PRAGMA compile_options")?;
    if options_of_build.iter().any(|row| row.text(0) == ONE_CACHE) {
        return Err(Objection::Disproved(
            "SQLite was built with one cache of pages for all sessions, so that arms would take each other's memory; build \
             ciphertax in its own folder, whose .cargo/config.toml keeps the caches apart"
                .into(),
        ));
    }
    let facts = session.facts();
    drop(session);
    let mut proofs = vec![proof(
        Witness::Client,
        "opens the file as the arm says",
        &status.words().join(", "),
    )];
    let (on_disk, disk) = prove_disk(options, &status)?;
    proofs.push(on_disk);
    proofs.extend(wrong_passphrase(options)?);
    Ok(ProvedFile {
        proved: Proved {
            proofs,
            unproved: None,
            expectation: Expectation::new(Transport::Plain).proved(&facts),
            facts,
        },
        disk,
    })
}

/// What an arm was proved to be.
#[derive(Debug, Clone)]
pub struct ProvedFile {
    /// The evidence, and what its session is.
    pub proved: Proved,
    /// What stays readable on the disk.
    pub disk: DiskRecord,
}

fn prove_disk(options: &ConnectOptions, status: &Status) -> Result<(Proof, DiskRecord), Objection> {
    let canary = random_text("canary")?;
    let folder = options.path().with_file_name("proof");
    fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
    let looked = look(&options.at(&folder.join("proof.db")), &folder, &canary);
    let removed = fs::remove_dir_all(&folder).map_err(Error::write(&folder));
    let looked = looked?;
    removed?;
    let is_encrypted = options.cipher().is_some();
    let kinds = looked
        .kinds
        .iter()
        .filter(|(_, readable)| *readable == is_encrypted);
    let mut wrong: Vec<&str> = kinds.map(|(kind, _)| *kind).collect();
    wrong.extend(looked.is_elsewhere.then_some("files without rows"));
    if !wrong.is_empty() {
        let (can, should) = match is_encrypted {
            true => ("can", "encrypted"),
            false => ("cannot", "in plaintext"),
        };
        return Err(Objection::Disproved(format!(
            "a canary {can} be read on the disk, in {}, which should be {should}",
            wrong.join(", ")
        )));
    }
    // As SQLCipher is built: SQLITE_TEMP_STORE=2, which 0 leaves as it is.
    let temporary = match status.value("temp_store") {
        "0" | "2" => "in memory, never on the disk",
        _ => return Err(Objection::Disproved("temporary files lie on the disk".into())),
    };
    let kinds = "its write-ahead log, the file after a checkpoint, a rollback journal";
    let proof = match is_encrypted {
        true => proof(
            Witness::Disk,
            "a canary cannot be read on the disk",
            &format!("searched were {kinds}; temporary files: {temporary}"),
        ),
        false => proof(
            Witness::Disk,
            "a canary lies on the disk in plaintext",
            &format!("found in {kinds}; temporary files: {temporary}"),
        ),
    };
    let files = looked.kinds.map(|(kind, _)| files_on_disk(kind, is_encrypted));
    let record = DiskRecord {
        searched_bytes: looked.bytes,
        files: files.into(),
    };
    Ok((proof, record))
}

/// Whoever has the file and not its passphrase has nothing.
fn wrong_passphrase(options: &ConnectOptions) -> Result<Option<Proof>, Objection> {
    let Some(wrong) = options.with_wrong_passphrase() else {
        return Ok(None);
    };
    let mut evidence = Vec::new();
    for (what, wrong) in [
        ("a wrong passphrase", wrong),
        ("no passphrase", options.without_passphrase()),
    ] {
        match Session::open(&wrong) {
            Ok(_) => {
                return Err(Objection::Disproved(format!(
                    "the file can be opened with {what}"
                )));
            }
            Err(error) if is_wrong_key(&error) => evidence.push(format!("{what}: {error}")),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(proof(
        Witness::Authentication,
        "a wrong passphrase does not open the file",
        &evidence.join("; "),
    )))
}

struct OnDisk {
    /// Every kind of file that SQLite writes rows to, and whether the canary can be read in it.
    kinds: [(&'static str, bool); 3],
    /// Whether it can be read in others.
    is_elsewhere: bool,
    bytes: u64,
}

/// Writes a canary to a new file, and tells in which of its files it can be read.
fn look(options: &ConnectOptions, folder: &Path, canary: &str) -> Result<OnDisk, Objection> {
    let (mut found, mut bytes) = (BTreeSet::new(), 0);
    // A file without rows would have no canary however it is encrypted.
    let mut search_when_written = |file: &Path| -> Result<(), Objection> {
        if length(file)? == 0 {
            let problem = format!("{} holds nothing that could be searched", file.display());
            return Err(Objection::NotTried(problem));
        }
        let searched = search(folder, canary.as_bytes())?;
        found.extend(searched.found.into_iter().map(|sighting| sighting.path));
        bytes += searched.bytes;
        Ok(())
    };
    let file = options.path();
    let (log, journal) = (log_of(file), journal_of(file));
    let mut session = Session::create(options)?;
    session.command("CREATE TABLE canary (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")?;
    session.command(&format!(
        "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {ROWS}) \
         INSERT INTO canary SELECT n, '{canary}' || n FROM number"
    ))?;
    search_when_written(&log)?;
    session.command("PRAGMA wal_checkpoint(TRUNCATE)")?;
    search_when_written(file)?;
    session.command("PRAGMA journal_mode = PERSIST")?;
    session.command("BEGIN IMMEDIATE")?;
    session.command("UPDATE canary SET value = 'nothing'")?;
    search_when_written(&journal)?;
    session.command("ROLLBACK")?;
    session.close()?;
    let known = [file, log.as_path(), journal.as_path()];
    let is_elsewhere = found
        .iter()
        .any(|path: &PathBuf| !known.contains(&path.as_path()));
    Ok(OnDisk {
        kinds: [
            ("database", found.contains(file)),
            ("write-ahead log", found.contains(&log)),
            ("rollback journal", found.contains(&journal)),
        ],
        is_elsewhere,
        bytes,
    })
}
