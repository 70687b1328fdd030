//! Loading the tables, several sessions side by side.

use std::cell::RefCell;

use ciphertax_engine::Part;
use ciphertax_model::Dataset;

use super::error::DatasetError;
use super::parallel;
use super::sbtest::{self, Chunk};
use crate::sql::session::DataSession;

/// Makes of the tables what is not there. `progress` hears the rows that are there, each time that it is more.
pub(super) async fn tables<S: DataSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let missing: RefCell<Vec<Chunk>> = RefCell::default();
    parallel::each(sessions, 1..=dataset.tables, async |session, table| {
        sbtest::create(session, table).await?;
        let of_table = sbtest::missing(session, table, dataset).await?;
        missing.borrow_mut().extend(of_table);
        Ok(())
    })
    .await?;

    let missing = missing.into_inner();
    let absent: u64 = missing.iter().map(|chunk| u64::from(chunk.rows())).sum();
    let mut there = dataset.rows() - absent;
    if there > 0 {
        progress(there);
    }
    write(sessions, dataset, missing, &mut |rows| {
        there += rows;
        progress(there);
    })
    .await?;

    parallel::each(sessions, 1..=dataset.tables, async |session, table| {
        sbtest::create_index(session, table).await?;
        sbtest::settle(session, table, dataset).await
    })
    .await
}

/// Writes a part of the rows of tables that are there. `written` hears of each chunk how many they are.
pub(super) async fn write_part<S: DataSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    part: Part,
    written: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let chunks = (1..=dataset.tables).flat_map(|table| Chunk::of(table, dataset));
    write(sessions, dataset, part.own(chunks), written).await
}

async fn write<S: DataSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    chunks: impl IntoIterator<Item = Chunk>,
    written: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let write = async |session: &mut S, chunk| {
        sbtest::write(session, chunk, dataset).await?;
        Ok(chunk.rows().into())
    };
    parallel::each_counted(sessions, chunks, write, written).await
}
