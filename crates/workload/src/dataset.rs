//! The data set: a schema of ciphertax's own, marked, made, checked and removed; no other is touched.

use std::time::Duration;

use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::sbtest;

/// The only schema that is ever touched.
pub const SCHEMA: &str = "ciphertax";
/// Rows of the bulk table.
pub const BULK_ROWS: u32 = 16;
/// Bytes of all payloads of the bulk table.
pub const BULK_BYTES: u64 = BULK_ROWS as u64 * BULK_ROW_BYTES as u64;

const BULK_ROW_BYTES: usize = 64 * 1024;
const ROWS_PER_INSERT: u32 = 1000;
const MARK_TABLE: &str = "made_by_ciphertax";
const MARK: &str = "this schema was made by ciphertax, which removes it after a run";

/// How large the data set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows of `sbtest1`.
    pub rows: u32,
}

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A schema of the name exists that ciphertax did not make.
    #[error(
        "the server has a schema named {SCHEMA} that ciphertax did not make; it is left alone: rename it, or measure \
         another server"
    )]
    NotOurs,
    /// The server said no, or went away.
    #[error("the data set cannot be made: {0}")]
    Wire(#[from] WireError),
    /// What is there is not what was written.
    #[error("the data set is not what was written: {0}")]
    Wrong(String),
}

/// Makes the data set anew. `progress` hears the rows written so far.
///
/// # Errors
/// When the schema is not ciphertax's own, or the server refuses.
pub async fn prepare(
    session: &mut Session,
    size: Size,
    mut progress: impl FnMut(u32),
) -> Result<(), DatasetError> {
    remove(session).await?;
    run(session, &format!("CREATE DATABASE {SCHEMA}")).await?;
    run(
        session,
        &format!("CREATE TABLE {SCHEMA}.{MARK_TABLE} (mark VARCHAR(100) NOT NULL)"),
    )
    .await?;
    run(
        session,
        &format!("INSERT INTO {SCHEMA}.{MARK_TABLE} VALUES ('{MARK}')"),
    )
    .await?;
    run(session, &format!("USE {SCHEMA}")).await?;

    let mut random = Pcg64Mcg::seed_from_u64(0);
    run(session, sbtest::CREATE).await?;
    let mut first = 1;
    while first <= size.rows {
        let last = size.rows.min(first + ROWS_PER_INSERT - 1);
        run(session, &sbtest::insert(first, last, size.rows, &mut random)).await?;
        progress(last);
        first = last + 1;
    }
    run(session, sbtest::CREATE_INDEX).await?;

    run(
        session,
        "CREATE TABLE bulk (id INTEGER NOT NULL PRIMARY KEY, payload MEDIUMBLOB NOT NULL)",
    )
    .await?;
    let mut payload = vec![0; BULK_ROW_BYTES];
    for id in 0..BULK_ROWS {
        random.fill_bytes(&mut payload);
        run(
            session,
            &format!("INSERT INTO bulk VALUES ({id}, X'{}')", hex(&payload)),
        )
        .await?;
    }
    check(session, size).await
}

/// Makes sure that the data set is what [`prepare`] wrote; reads all of it, so that it is in memory.
///
/// # Errors
/// Says what differs.
pub async fn check(session: &mut Session, size: Size) -> Result<(), DatasetError> {
    let rows = session
        .query(&format!(
            "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MIN(LENGTH(pad)) FROM {SCHEMA}.sbtest1"
        ))
        .await?;
    expect(
        "sbtest1",
        &rows,
        &[&size.rows.to_string(), "1", &size.rows.to_string(), "119", "59"],
    )?;
    let rows = session
        .query(&format!(
            "SELECT COUNT(*), SUM(LENGTH(payload)) FROM {SCHEMA}.bulk"
        ))
        .await?;
    expect("bulk", &rows, &[&BULK_ROWS.to_string(), &BULK_BYTES.to_string()])
}

/// Removes the data set if there is one.
///
/// # Errors
/// When the schema is not ciphertax's own, or the server refuses.
pub async fn remove(session: &mut Session) -> Result<(), DatasetError> {
    let found = |rows: Vec<_>| !rows.is_empty();
    let schema = format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'");
    if !found(session.query(&schema).await?) {
        return Ok(());
    }
    let mark_table = format!(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name = '{MARK_TABLE}'"
    );
    if !found(session.query(&mark_table).await?) {
        return Err(DatasetError::NotOurs);
    }
    let mark = session
        .query(&format!("SELECT * FROM {SCHEMA}.{MARK_TABLE}"))
        .await?;
    if mark.first().map(|row| row.text(0)).as_deref() != Some(MARK) {
        return Err(DatasetError::NotOurs);
    }
    run(session, &format!("DROP DATABASE {SCHEMA}")).await?;
    Ok(())
}

/// How long a data set of this size may take to make, on a slow server.
pub fn patience(size: Size) -> Duration {
    Duration::from_secs(60) + Duration::from_millis(2) * size.rows
}

async fn run(session: &mut Session, sql: &str) -> Result<(), WireError> {
    session.query_raw(sql, |_| Ok(())).await.map(|_| ())
}

fn expect(
    table: &str,
    rows: &[ciphertax_wire::mysql::TextRow],
    expected: &[&str],
) -> Result<(), DatasetError> {
    let found: Vec<String> = rows
        .iter()
        .flat_map(|row| (0..expected.len()).map(|column| row.text(column)))
        .collect();
    if found == expected {
        return Ok(());
    }
    Err(DatasetError::Wrong(format!(
        "{table} says {found:?}, expected {expected:?}"
    )))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}
