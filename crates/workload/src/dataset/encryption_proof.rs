//! Proof that a client, or a server, encrypts what it stores: what sessions with and without the key read.

use std::rc::Rc;

use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_model::{CellEncoding, ColumnEncryption};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;

use super::SCHEMA;
use super::mark::{DatasetError, Result, run};
use crate::sql::Columns;
use crate::sql::session::SqlSession;

const CELLS_TABLE: &str = "cells_proof";
/// The canary is a text, by MySQL's type code.
const TEXT: CellKind = CellKind(253);

/// A text that is stored as a cell, and one that is stored as it is. Neither has quotes or backslashes.
#[derive(Debug, Clone, Copy)]
pub struct CellCanaries<'a> {
    /// In the cell.
    pub encrypted: &'a str,
    /// Beside it.
    pub plain: &'a str,
}

/// How a database is asked for what is no part of SQL.
#[derive(Debug, Clone, Copy)]
pub struct CellsProof {
    /// What stands around a column to have its bytes as hexadecimal digits.
    pub hexadecimal: [&'static str; 2],
    /// Has the server log all statements, and not any more; `None` where the session itself says the former alone.
    pub log: [Option<&'static str>; 2],
    /// What brings a table of this name to the disk.
    pub flush: fn(&str) -> Vec<String>,
}

/// What was read of [`CellCanaries`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellsRead {
    /// The cell, decrypted by a session that has the key.
    pub with_key: String,
    /// The cell as another session reads it.
    pub without_key: Vec<u8>,
    /// The plain column, by that other session.
    pub plain: String,
    /// True if the server logged the statements.
    pub is_logged: bool,
}

/// Stores canaries in a table of its own in a schema of ciphertax's name, which must not be there, brings them to the disk, and
/// reads them. The schema stays, so that the disk can be searched: [`remove_columns_proof`](super::remove_columns_proof) removes it.
///
/// # Errors
/// When the cell cannot be made or read, the server refuses, or cannot be reached.
pub async fn write_cells_proof<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    (encryption, key): (&ColumnEncryption, &MasterKey),
    canaries: CellCanaries<'_>,
    proof: &CellsProof,
) -> Result<CellsRead> {
    let of_cells = |error: &dyn std::fmt::Display| DatasetError::Cells(error.to_string());
    let mut cipher = CellCipher::open(encryption, key).map_err(|error| of_cells(&error))?;
    let mut cell = Vec::new();
    cipher
        .encrypt(TEXT, canaries.encrypted.as_bytes(), &mut cell)
        .map_err(|error| of_cells(&error))?;
    let (mut session, _) = S::connect(reactor, &S::within(options, None)).await?;
    run(&mut session, &format!("CREATE SCHEMA {}", SCHEMA.quoted())).await?;
    session.close().await?;
    let inside = S::within(options, Some(&SCHEMA));
    let (mut session, _) = S::connect(reactor, &inside).await?;
    let is_logged = match proof.log[0] {
        Some(log) => run(&mut session, log).await.is_ok(),
        None => false,
    };
    let [column, value] = column_and_value::<S>(encryption, &cell);
    let text = (S::DIALECT.text)(canaries.plain.len());
    run(
        &mut session,
        &format!(
            "CREATE TABLE {CELLS_TABLE} (id INTEGER NOT NULL PRIMARY KEY, cell {column}, plain {text}){}",
            S::DIALECT.storage
        ),
    )
    .await?;
    let insert = format!(
        "INSERT INTO {CELLS_TABLE} VALUES (1, {value}, '{}')",
        canaries.plain
    );
    run(&mut session, &insert).await?;
    for flush in (proof.flush)(CELLS_TABLE) {
        run(&mut session, &flush).await?;
    }
    let (mut other, _) = S::connect(reactor, &inside).await?;
    let [before, after] = proof.hexadecimal;
    let rows = other
        .query(&format!("SELECT {before}cell{after}, plain FROM {CELLS_TABLE}"))
        .await?;
    let text = |column| rows.first().map(|row| row.text(column)).unwrap_or_default();
    let (stored, plain) = (bytes(&text(0)), text(1));
    other.close().await?;
    if let (Some(end), true) = (proof.log[1], is_logged) {
        run(&mut session, end).await?;
    }
    session.close().await?;
    let mut with_key = Vec::new();
    cipher
        .decrypt(&stored, &mut with_key)
        .map_err(|error| of_cells(&format!("{CELLS_TABLE}.cell {error}")))?;
    Ok(CellsRead {
        with_key: String::from_utf8_lossy(&with_key).into_owned(),
        without_key: stored,
        plain,
        is_logged,
    })
}

/// The type of a column for a cell, and the cell as SQL writes it.
fn column_and_value<S: SqlSession>(encryption: &ColumnEncryption, cell: &[u8]) -> [String; 2] {
    if encryption.encoding == CellEncoding::Base64 {
        let text = (S::DIALECT.text)(cell.len()).to_owned();
        return [text, format!("'{}'", String::from_utf8_lossy(cell))];
    }
    let [before, after] = S::DIALECT.around_bytes;
    let digits: String = cell.iter().map(|byte| format!("{byte:02x}")).collect();
    [S::DIALECT.bytes.to_owned(), format!("{before}{digits}{after}")]
}

/// The bytes of hexadecimal digits; what is none is left out, and so no cell.
fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.filter_map(byte).collect()
}

const COLUMNS_TABLE: &str = "columns_proof";

/// A text that is written to an encrypted column, and one that is written to a plain column beside it. Neither has quotes or
/// backslashes.
#[derive(Debug, Clone, Copy)]
pub struct ColumnCanaries<'a> {
    /// In the encrypted column.
    pub encrypted: &'a str,
    /// In the plain one.
    pub plain: &'a str,
}

/// What was read of [`ColumnCanaries`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnsRead {
    /// The encrypted column, decrypted by a session that has the key.
    pub with_key: String,
    /// The encrypted column as it lies there, by another session.
    pub without_key: String,
    /// The plain column, by that other session.
    pub plain: String,
}

/// Writes canaries into a table of its own in a schema of ciphertax's name, which must not be there, brings them to the disk,
/// and reads them. The schema stays, so that the disk can be searched: [`remove_columns_proof`] removes it.
///
/// # Errors
/// When the server refuses, or cannot be reached.
pub async fn write_columns_proof<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    columns: &Columns,
    canaries: ColumnCanaries<'_>,
) -> Result<ColumnsRead> {
    let ColumnCanaries { encrypted, plain } = canaries;
    let (mut session, _) = S::connect(reactor, &S::within(options, None)).await?;
    run(&mut session, &format!("CREATE SCHEMA {}", SCHEMA.quoted())).await?;
    session.close().await?;
    let inside = S::within(options, Some(&SCHEMA));
    let (mut session, _) = S::connect(reactor, &inside).await?;
    if let Some(installation) = columns.installation() {
        run(&mut session, &installation).await?;
    }
    columns.begin(&mut session).await?;
    let [text, secret] = [
        (S::DIALECT.text)(plain.len()),
        columns.column_type(encrypted.len()),
    ];
    run(
        &mut session,
        &format!(
            "CREATE TABLE {COLUMNS_TABLE} (id INTEGER NOT NULL PRIMARY KEY, plain {text}, secret {secret})"
        ),
    )
    .await?;
    let [before, after] = columns.around_value();
    let insert = format!("INSERT INTO {COLUMNS_TABLE} VALUES (1, '{plain}', {before}'{encrypted}'{after})");
    run(&mut session, &insert).await?;
    for flush in columns.flush(COLUMNS_TABLE) {
        run(&mut session, &flush).await?;
    }
    let [with_key] = first_row(&mut session, [&columns.decrypted("secret")]).await?;
    let (mut other, _) = S::connect(reactor, &inside).await?;
    let [plain, without_key] = first_row(&mut other, ["plain", &columns.as_it_lies("secret")]).await?;
    other.close().await?;
    session.close().await?;
    Ok(ColumnsRead {
        with_key,
        without_key,
        plain,
    })
}

/// Removes what [`write_columns_proof`] wrote.
///
/// # Errors
/// When the server refuses, or cannot be reached.
pub async fn remove_columns_proof<S: SqlSession>(reactor: &Rc<Reactor>, options: &S::Options) -> Result<()> {
    let (mut session, _) = S::connect(reactor, &S::within(options, None)).await?;
    let with_contents = S::DIALECT.with_contents;
    run(
        &mut session,
        &format!("DROP SCHEMA {}{with_contents}", SCHEMA.quoted()),
    )
    .await?;
    session.close().await?;
    Ok(())
}

async fn first_row<const N: usize>(
    session: &mut impl SqlSession,
    columns: [&str; N],
) -> Result<[String; N], WireError> {
    let rows = session
        .query(&format!("SELECT {} FROM {COLUMNS_TABLE}", columns.join(", ")))
        .await?;
    Ok(std::array::from_fn(|column| {
        rows.first().map(|row| row.text(column)).unwrap_or_default()
    }))
}
