//! Proof that a file is encrypted, or is not, as its arm says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_model::Transport;
use ciphertax_records::{Proof, Witness};
use ciphertax_wire::sqlite::{ConnectOptions, Session, Status, is_wrong_key};
use ciphertax_wire::{Expectation, WireError};

use super::disk::{journal_of, log_of};
use crate::disk_search::search;
use crate::error::Error;
use crate::proof::{ProofError, Proved, proof, random_text};

/// Rows with the canary, on more pages than one.
const ROWS: u32 = 200;

/// Proves an arm by three witnesses: SQLite's and SQLCipher's own word, the disk, and a wrong passphrase.
///
/// The disk is that of another file beside the arm's, which is opened in the same way: a canary is written to it and searched
/// for in its write-ahead log, in the file itself after a checkpoint, and in a rollback journal. It is gone afterwards.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(arm: &str, options: &ConnectOptions) -> Result<Proved, ProofError> {
    let prover = Prover { arm, options };
    let opened = Session::open(options).map_err(|error| prover.no_session(&error))?;
    let (mut session, _) = opened;
    let status = session.status().map_err(|error| prover.no_session(&error))?;
    status
        .check(options)
        .map_err(|problem| prover.disproved(problem))?;
    let facts = session.facts();
    drop(session);
    let mut proofs = vec![proof(
        Witness::Client,
        "opens the file as the arm says",
        &status.words().join(", "),
    )];
    proofs.push(prover.disk(&status)?);
    proofs.extend(prover.wrong_passphrase()?);
    Ok(Proved {
        proofs,
        expectation: Expectation::new(Transport::Plain).proved(&facts),
        facts,
    })
}

struct Prover<'a> {
    arm: &'a str,
    options: &'a ConnectOptions,
}

impl Prover<'_> {
    fn disk(&self, status: &Status) -> Result<Proof, ProofError> {
        let not_tried = |problem: Error| self.no_session(&problem);
        let canary = random_text("canary").map_err(not_tried)?;
        let folder = self.options.path().with_file_name("proof");
        fs::create_dir_all(&folder)
            .map_err(Error::write(&folder))
            .map_err(not_tried)?;
        let looked = look(&self.options.at(&folder.join("proof.db")), &folder, &canary);
        let removed = fs::remove_dir_all(&folder).map_err(Error::write(&folder));
        let looked = looked.map_err(|problem| self.no_session(&problem))?;
        removed.map_err(not_tried)?;
        let is_encrypted = self.options.cipher().is_some();
        let wrong: Vec<&str> = looked
            .iter()
            .filter(|(kind, is_readable)| *is_readable == (is_encrypted || *kind == Kind::Other))
            .map(|(kind, _)| kind.name())
            .collect();
        if !wrong.is_empty() {
            let (can, should) = match is_encrypted {
                true => ("can", "encrypted"),
                false => ("cannot", "in plaintext"),
            };
            return Err(self.disproved(format!(
                "a canary {can} be read on the disk, in {}, which should be {should}",
                wrong.join(", ")
            )));
        }
        // As SQLCipher is built: SQLITE_TEMP_STORE=2, which 0 leaves as it is.
        let temporary = match status.value("temp_store") {
            "0" | "2" => "in memory, never on the disk",
            _ => return Err(self.disproved("temporary files lie on the disk".into())),
        };
        let kinds = "its write-ahead log, the file after a checkpoint, a rollback journal";
        Ok(match is_encrypted {
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
        })
    }

    /// Whoever has the file and not its passphrase has nothing.
    fn wrong_passphrase(&self) -> Result<Option<Proof>, ProofError> {
        let Some(wrong) = self.options.with_wrong_passphrase() else {
            return Ok(None);
        };
        let mut evidence = Vec::new();
        for (what, options) in [
            ("a wrong passphrase", wrong),
            ("no passphrase", self.options.without_passphrase()),
        ] {
            match Session::open(&options) {
                Ok(_) => return Err(self.disproved(format!("the file can be opened with {what}"))),
                Err(error) if is_wrong_key(&error) => evidence.push(format!("{what}: {error}")),
                Err(error) => return Err(self.no_session(&error)),
            }
        }
        Ok(Some(proof(
            Witness::Authentication,
            "a wrong passphrase does not open the file",
            &evidence.join("; "),
        )))
    }

    fn no_session(&self, problem: &impl ToString) -> ProofError {
        ProofError::NoSession {
            arm: self.arm.to_owned(),
            problem: problem.to_string(),
        }
    }

    fn disproved(&self, problem: String) -> ProofError {
        ProofError::Disproved {
            arm: self.arm.to_owned(),
            problem,
        }
    }
}

/// A kind of file that SQLite writes rows to, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Log,
    Database,
    Journal,
    Other,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Log => "the write-ahead log",
            Self::Database => "the database",
            Self::Journal => "the rollback journal",
            Self::Other => "a file that has no rows",
        }
    }
}

/// Why nobody looked.
#[derive(Debug, thiserror::Error)]
enum NotLooked {
    #[error(transparent)]
    Asked(#[from] WireError),
    #[error(transparent)]
    Searched(#[from] Error),
}

/// Writes a canary to a new file, and tells in which of its files it can be read.
fn look(options: &ConnectOptions, folder: &Path, canary: &str) -> Result<Vec<(Kind, bool)>, NotLooked> {
    let found = || -> Result<BTreeSet<PathBuf>, NotLooked> {
        let searched = search(folder, canary.as_bytes())?;
        Ok(searched.found.into_iter().map(|sighting| sighting.path).collect())
    };
    let file = options.path();
    let mut session = Session::create(options)?;
    session.command("CREATE TABLE canary (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")?;
    session.command(&format!(
        "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {ROWS}) \
         INSERT INTO canary SELECT n, '{canary}' || n FROM number"
    ))?;
    let in_log = found()?;
    session.command("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let in_database = found()?;
    session.command("PRAGMA journal_mode = PERSIST")?;
    session.command("BEGIN IMMEDIATE")?;
    session.command("UPDATE canary SET value = 'nothing'")?;
    let in_journal = found()?;
    session.command("ROLLBACK")?;
    session.close()?;
    let known = [file.to_owned(), log_of(file), journal_of(file)];
    let is_elsewhere = [&in_log, &in_database, &in_journal]
        .into_iter()
        .flatten()
        .any(|path| !known.contains(path));
    Ok(vec![
        (Kind::Log, in_log.contains(&log_of(file))),
        (Kind::Database, in_database.contains(file)),
        (Kind::Journal, in_journal.contains(&journal_of(file))),
        (Kind::Other, is_elsewhere),
    ])
}
