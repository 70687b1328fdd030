//! The table of large values, for `bulk_read`.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::error::DatasetError;
use super::question::{expect, run};
use super::schema::SCHEMA;
use crate::sql::session::SqlSession;

/// Rows of the bulk table.
pub const BULK_ROWS: u32 = 16;
/// Bytes of all payloads of the bulk table.
pub const BULK_BYTES: u64 = BULK_ROWS as u64 * BULK_ROW_BYTES as u64;

const BULK_ROW_BYTES: usize = 64 * 1024;

/// Makes the table unless it is there and right.
pub(super) async fn load<S: SqlSession>(session: &mut S) -> Result<(), DatasetError> {
    let bytes = S::DIALECT.bytes;
    let create = format!(
        "CREATE TABLE IF NOT EXISTS bulk (id INTEGER NOT NULL PRIMARY KEY, payload {bytes} NOT NULL)"
    );
    run(session, &create).await?;
    if check(session).await.is_ok() {
        return Ok(());
    }
    run(session, "DELETE FROM bulk").await?;
    let mut random = Pcg64Mcg::seed_from_u64(0);
    let mut payload = vec![0; BULK_ROW_BYTES];
    for id in 0..BULK_ROWS {
        random.fill_bytes(&mut payload);
        let [before, after] = S::DIALECT.around_bytes;
        let insert = format!("INSERT INTO bulk VALUES ({id}, {before}{}{after})", hex(&payload));
        run(session, &insert).await?;
    }
    Ok(())
}

/// Makes sure that the table holds what was written; reads all of it, so that it is in memory.
pub(super) async fn check(session: &mut impl SqlSession) -> Result<(), DatasetError> {
    let rows = session
        .query(&format!(
            "SELECT COUNT(*), SUM(LENGTH(payload)) FROM {SCHEMA}.bulk"
        ))
        .await?;
    expect("bulk", &rows, &[&BULK_ROWS.to_string(), &BULK_BYTES.to_string()])
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}
