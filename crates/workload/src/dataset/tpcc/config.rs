//! What was drawn when the tables were made, and is needed as long as they are there.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::nurand::A_C_LAST;
use crate::dataset::DatasetError;
use crate::dataset::mark::{SCHEMA, run};
use crate::sql::SqlSession;

/// The only table of a data set for it, whatever sets of TPC-C's tables there are.
pub(super) const TABLE: &str = "tpcc_config";

/// Of all that is drawn for the tables: they are the same every time, and a load that is taken up again goes on with
/// the same.
pub(super) const SEED: u64 = 0x7470_6363;

/// What was drawn when the tables were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// `C-Load`, which customers' last names were drawn with.
    pub(super) c_load: u32,
    /// When that was, as `2026-11-23 06:20:51`: the date of every row that has one.
    pub(super) loaded_at: String,
}

/// What is kept of it.
///
/// # Errors
/// When there is none, or the server refuses.
pub(super) async fn read(session: &mut impl SqlSession) -> Result<Config, DatasetError> {
    let rows = session
        .query(&format!("SELECT c_load, loaded_at FROM {SCHEMA}.{TABLE}"))
        .await?;
    let wrong = || DatasetError::Wrong(format!("{TABLE} does not hold what was drawn"));
    let [row] = &rows[..] else { return Err(wrong()) };
    let (c_load, loaded_at) = (row.text(0), row.text(1));
    let c_load: u32 = c_load.parse().map_err(|_| wrong())?;
    match c_load <= A_C_LAST && is_date(loaded_at.as_bytes()) {
        true => Ok(Config { c_load, loaded_at }),
        false => Err(wrong()),
    }
}

/// Draws it, unless it is kept already.
pub(super) async fn ensure<S: SqlSession>(session: &mut S) -> Result<Config, DatasetError> {
    let storage = S::DIALECT.storage;
    let date = S::DIALECT.date;
    run(
        session,
        &format!(
            "CREATE TABLE IF NOT EXISTS {TABLE} (c_load INTEGER NOT NULL, loaded_at {date} NOT NULL){storage}"
        ),
    )
    .await?;
    match read(session).await {
        Err(DatasetError::Wrong(_)) => {}
        kept => return kept,
    }
    let c_load = Pcg64Mcg::seed_from_u64(SEED).random_range(0..=A_C_LAST);
    run(session, &format!("DELETE FROM {TABLE}")).await?;
    run(
        session,
        &format!("INSERT INTO {TABLE} VALUES ({c_load}, CURRENT_TIMESTAMP)"),
    )
    .await?;
    read(session).await
}

/// True for `2026-11-23 06:20:51`, which goes into rows as it is.
fn is_date(text: &[u8]) -> bool {
    const SHAPE: &[u8] = b"0000-00-00 00:00:00";
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    text.len() == SHAPE.len() && text.iter().zip(SHAPE).all(fits)
}
