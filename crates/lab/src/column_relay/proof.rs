//! Proof that a relay encrypts the columns that it is told to, and that nothing else goes past it: by a canary in every one of them,
//! which a session to the server reads and a session through the relay does not find, but has the key for.

use std::collections::BTreeMap;
use std::rc::Rc;

use ciphertax_base::{Proof, Witness};
use ciphertax_columns::CellCipher;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

use super::packet::counted;
use super::{EncryptedColumns, RunningColumnRelay};
use crate::proof::{self, Objection, ProofError, proof, random_text};

/// Of its own, so that it is gone without a trace.
const SCHEMA: &str = "ciphertax_cells";

/// The number of a set of tables that no run has.
const SET: &str = "4294967295";

/// The table of columns that are named without one, and where none is named.
const ANY_TABLE: &str = "ciphertax";

/// What is encrypted where nothing is.
const NO_COLUMN: &str = "canary";

impl RunningColumnRelay {
    /// Proves that sessions opened by `options` go through this relay, and that what it encrypts can be read without the key as the
    /// arm says: not at all, or, where cells are only wrapped, all the same. `direct` leads to the server itself, with all rights.
    ///
    /// # Errors
    /// Names the arm, and what contradicts it or keeps it from being tried.
    pub fn prove(
        &self,
        arm: &str,
        options: &ConnectOptions,
        direct: &ConnectOptions,
    ) -> Result<Proof, ProofError> {
        proof::prove_helper(arm, "the relay that encrypts its columns", async |reactor| {
            self.proof(reactor, options, direct).await
        })
    }

    async fn proof(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        direct: &ConnectOptions,
    ) -> Result<Proof, Objection> {
        let (mut to_server, _) = Session::connect(reactor, direct).await?;
        let outcome = self.proof_beside(reactor, options, &mut to_server).await;
        to_server
            .query(&format!("DROP DATABASE IF EXISTS {SCHEMA}"))
            .await?;
        let _ = to_server.close().await;
        outcome
    }

    async fn proof_beside(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        to_server: &mut Session,
    ) -> Result<Proof, Objection> {
        let canary = random_text("canary")?;
        let tables = tables(self.encrypts.as_ref());
        to_server
            .query(&format!("DROP DATABASE IF EXISTS {SCHEMA}"))
            .await?;
        to_server.query(&format!("CREATE DATABASE {SCHEMA}")).await?;
        for (table, columns) in &tables {
            for statement in statements(table, columns, &canary) {
                to_server.query(&statement).await?;
            }
        }
        let before = self.counts()?;
        let (mut through, _) = Session::connect(reactor, options).await?;
        let mut judge = Judge::of(self.encrypts.as_ref(), &canary)?;
        let mut cells = 0;
        for (table, columns) in &tables {
            let question = format!("SELECT {} FROM {SCHEMA}.`{table}`", columns.join(", "));
            for (received, plain) in both(&mut through, &question)
                .await?
                .iter()
                .zip(both(to_server, &question).await?)
            {
                let values = values(received, columns.len()).zip(values(&plain, columns.len()));
                let (received, plain) = values.ok_or_else(|| disproved("a row cannot be read"))?;
                if plain.iter().any(|value| *value != canary.as_bytes()) {
                    return Err(disproved("a session to the server does not find the canary"));
                }
                for (column, value) in columns.iter().zip(received) {
                    judge.look_at(&format!("{table}.{column}"), value)?;
                    cells += 1;
                }
            }
        }
        let _ = through.close().await;
        let after = self.counts()?;
        if after.connections == before.connections {
            return Err(disproved("the session does not go through its relay"));
        }
        let encrypted = after.cells - before.cells;
        let expected = if judge.cipher.is_some() { cells } else { 0 };
        if encrypted != expected {
            return Err(disproved(&format!(
                "of {cells} cells its relay counts {encrypted} as encrypted instead of {expected}"
            )));
        }
        Ok(judge.verdict(cells))
    }
}

/// Where the canary is put: all columns that are encrypted, by table.
fn tables(encrypts: Option<&EncryptedColumns>) -> BTreeMap<String, Vec<String>> {
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in encrypts.map_or(&[][..], |encrypts| &encrypts.columns) {
        let (table, column) = name.split_once('.').unwrap_or((ANY_TABLE, name));
        tables
            .entry(format!("{table}_{SET}"))
            .or_default()
            .push(format!("`{column}`"));
    }
    if tables.is_empty() {
        tables.insert(ANY_TABLE.into(), vec![NO_COLUMN.into()]);
    }
    tables
}

fn statements(table: &str, columns: &[String], canary: &str) -> [String; 2] {
    let each = |what: &str| {
        let each: Vec<String> = columns.iter().map(|column| what.replace('?', column)).collect();
        each.join(", ")
    };
    [
        format!("CREATE TABLE {SCHEMA}.`{table}` ({})", each("? VARCHAR(60)")),
        format!(
            "INSERT INTO {SCHEMA}.`{table}` VALUES ({})",
            vec![format!("'{canary}'"); columns.len()].join(", ")
        ),
    ]
}

/// The values of one row, as text and as the answer to a prepared statement, without what goes before them.
async fn both(session: &mut Session, question: &str) -> Result<[Vec<u8>; 2], WireError> {
    let (mut text, mut binary) = (Vec::new(), Vec::new());
    session
        .query_raw(question, |row| {
            text = row.to_vec();
            Ok(())
        })
        .await?;
    let mut statement = session.prepare(question, &[]).await?;
    session
        .execute_rows(&mut statement, |row| {
            binary = row.to_vec();
            Ok(())
        })
        .await?;
    // A zero, and the bits of NULL, of which none is set.
    let begin = binary.iter().take_while(|byte| **byte == 0).count();
    Ok([text, binary.split_off(begin)])
}

/// The values of a row of texts.
fn values(mut row: &[u8], columns: usize) -> Option<Vec<&[u8]>> {
    let mut values = Vec::with_capacity(columns);
    for _ in 0..columns {
        let (value, rest) = counted(row)?;
        values.push(value);
        row = rest;
    }
    row.is_empty().then_some(values)
}

/// Who looks at what a client receives.
struct Judge<'a> {
    canary: &'a [u8],
    /// `None` where nothing is encrypted.
    cipher: Option<CellCipher>,
    /// False where cells are only wrapped.
    protects: bool,
}

impl<'a> Judge<'a> {
    fn of(encrypts: Option<&EncryptedColumns>, canary: &'a str) -> Result<Self, Objection> {
        let encrypts = encrypts.filter(|encrypts| !encrypts.columns.is_empty());
        let open = |encrypts: &EncryptedColumns| CellCipher::open(&encrypts.encryption, &encrypts.key);
        let cipher = encrypts.map(open).transpose();
        Ok(Self {
            canary: canary.as_bytes(),
            cipher: cipher.map_err(|error| disproved(&error.to_string()))?,
            protects: encrypts.is_some_and(|encrypts| encrypts.encryption.protects()),
        })
    }

    /// Holds a value against what the arm says of it.
    fn look_at(&mut self, column: &str, value: &[u8]) -> Result<(), Objection> {
        let Some(cipher) = &mut self.cipher else {
            return match value == self.canary {
                true => Ok(()),
                false => Err(disproved(&format!(
                    "its relay is to pass everything on, and {column} is not the canary"
                ))),
            };
        };
        let decoded = openssl::base64::decode_block(&String::from_utf8_lossy(value)).unwrap_or_default();
        let shows = |bytes: &[u8]| memchr::memmem::find(bytes, self.canary).is_some();
        if (shows(value) || shows(&decoded)) == self.protects {
            let can = if self.protects { "can" } else { "cannot" };
            return Err(disproved(&format!(
                "a session without the key {can} read the canary in {column}"
            )));
        }
        let mut plaintext = Vec::new();
        cipher
            .decrypt(value, &mut plaintext)
            .map_err(|error| disproved(&format!("the cell in {column} {error}")))?;
        match plaintext == self.canary {
            true => Ok(()),
            false => Err(disproved(&format!("the cell in {column} is not the canary's"))),
        }
    }

    fn verdict(&self, cells: u64) -> Proof {
        let (claim, evidence) = match (&self.cipher, self.protects) {
            (None, _) => (
                "goes through a relay that passes everything on",
                "what a session through it received is what a session to the server did".to_owned(),
            ),
            (Some(_), true) => (
                "a canary value in the named columns cannot be read without the key",
                format!(
                    "a session to the server found it; of {cells} cells that a session without the key received, none shows it, and \
                     with the key all are it"
                ),
            ),
            (Some(_), false) => (
                "a canary value in the named columns can be read without a key: the cells are unprotected",
                format!("all of {cells} cells that a session without a key received show it"),
            ),
        };
        proof(Witness::Wire, claim, &evidence)
    }
}

fn disproved(problem: &str) -> Objection {
    Objection::Disproved(problem.to_owned())
}
