//! Numbers that were drawn when the tables were made and are needed as long as they are there, and the constants of a run.

use std::ops::RangeInclusive;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::random::{A_C_ID, A_C_LAST, A_OL_I_ID, LastName, last_name, nurand};
use crate::dataset::SCHEMA;
use crate::dataset::mark::run;
use crate::dataset::{DatasetError, Result};
use crate::sql::SqlSession;

/// How far the constant of last names in a run lies from that of the load (clause 2.1.6.1).
const C_LAST_DELTAS: RangeInclusive<u32> = 65..=119;
/// But not as far as this.
const NO_C_LAST_DELTAS: [u32; 2] = [96, 112];

/// The constants `C` of a run's non-uniform numbers. All terminals of a run have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    /// That of customers' last names, `C-Run`.
    pub c_last: u32,
    /// That of customers' numbers.
    pub c_id: u32,
    /// That of the items that are ordered.
    pub ol_i_id: u32,
}

impl Constants {
    /// Draws those of a run over tables whose last names were drawn with `c_load`.
    pub fn of_run(c_load: u32, random: &mut Pcg64Mcg) -> Self {
        let c_last = loop {
            let c_run = random.random_range(0..=A_C_LAST);
            let delta = c_run.abs_diff(c_load);
            if C_LAST_DELTAS.contains(&delta) && !NO_C_LAST_DELTAS.contains(&delta) {
                break c_run;
            }
        };
        Self {
            c_last,
            c_id: random.random_range(0..=A_C_ID),
            ol_i_id: random.random_range(0..=A_OL_I_ID),
        }
    }

    /// Draws those of a run over the tables that are there.
    ///
    /// # Errors
    /// When there are none, or the server refuses.
    pub async fn read(session: &mut impl SqlSession, random: &mut Pcg64Mcg) -> Result<Self> {
        let config = read_config(session).await?;
        Ok(Self::of_run(config.c_load, random))
    }

    /// A customer's last name, as transactions ask for it.
    pub fn last_name(&self, random: &mut Pcg64Mcg) -> LastName {
        last_name(nurand(random, A_C_LAST, 0..=999, self.c_last))
    }

    /// A customer's number in a district.
    pub fn customer(&self, random: &mut Pcg64Mcg) -> u32 {
        nurand(random, A_C_ID, 1..=3000, self.c_id)
    }

    /// The number of an item that is ordered.
    pub fn item(&self, random: &mut Pcg64Mcg) -> u32 {
        nurand(random, A_OL_I_ID, 1..=100_000, self.ol_i_id)
    }
}

/// The only table of a data set for it, whatever sets of TPC-C's tables there are.
pub(super) const CONFIG_TABLE: &str = "tpcc_config";

/// Of all that is drawn for the tables: they are the same every time, and a load that is taken up again goes on with
/// the same.
pub(super) const SEED: u64 = 0x7470_6363;

/// What was drawn when the tables were made.
///
/// It was drawn when the tables were made, and is needed as long as they are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// `C-Load`, which customers' last names were drawn with.
    pub(super) c_load: u32,
    /// When that was, as `2026-11-23 06:20:51`: the date of every row that has one.
    pub(super) loaded_at: String,
}

/// What is kept of it.
pub(super) async fn read_config(session: &mut impl SqlSession) -> Result<Config> {
    let rows = session
        .query(&format!(
            "SELECT c_load, loaded_at FROM {}.{CONFIG_TABLE}",
            SCHEMA.quoted()
        ))
        .await?;
    let wrong = || DatasetError::Wrong(format!("{CONFIG_TABLE} does not hold what was drawn"));
    let [row] = &rows[..] else { return Err(wrong()) };
    let (c_load, loaded_at) = (row.text(0), row.text(1));
    let c_load: u32 = c_load.parse().map_err(|_| wrong())?;
    match c_load <= A_C_LAST && is_date(loaded_at.as_bytes()) {
        true => Ok(Config { c_load, loaded_at }),
        false => Err(wrong()),
    }
}

/// Draws it, unless it is kept already.
pub(super) async fn ensure_config<S: SqlSession>(session: &mut S) -> Result<Config> {
    let storage = S::DIALECT.storage;
    let date = S::DIALECT.date;
    run(
        session,
        &format!(
            "CREATE TABLE IF NOT EXISTS {CONFIG_TABLE} (c_load INTEGER NOT NULL PRIMARY KEY, loaded_at {date} NOT NULL){storage}"
        ),
    )
    .await?;
    match read_config(session).await {
        Err(DatasetError::Wrong(_)) => {}
        kept => return kept,
    }
    let c_load = Pcg64Mcg::seed_from_u64(SEED).random_range(0..=A_C_LAST);
    run(session, &format!("DELETE FROM {CONFIG_TABLE}")).await?;
    run(
        session,
        &format!("INSERT INTO {CONFIG_TABLE} VALUES ({c_load}, CURRENT_TIMESTAMP)"),
    )
    .await?;
    read_config(session).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_a_run_keep_their_distance_from_that_of_the_load() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for c_load in 0..=A_C_LAST {
            for _ in 0..200 {
                let delta = Constants::of_run(c_load, &mut random).c_last.abs_diff(c_load);
                assert!(matches!(delta, 65..=95 | 97..=111 | 113..=119), "{delta}");
            }
        }
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let constants = Constants {
            c_last: 255,
            c_id: 1023,
            ol_i_id: 8191,
        };
        for _ in 0..100_000 {
            assert!((1..=3000).contains(&constants.customer(&mut random)));
            assert!((1..=100_000).contains(&constants.item(&mut random)));
        }
    }
}
