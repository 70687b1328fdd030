//! The tables of sysbench, and that of large values.

use std::cell::RefCell;

use ciphertax_model::Dataset;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::SCHEMA;
use super::mark::{DatasetError, Result, expect, run, vacuum};
use super::parallel;
use crate::digits::hexadecimal;
use crate::sql::distribution::Picker;
use crate::sql::insert::{C_LENGTH, PAD_LENGTH, fill_groups};
use crate::sql::rows::{Rows, statement};
use crate::sql::session::{Query, SqlSession};

pub(super) const CHUNK_ROWS: u32 = 1000;

/// Consecutive rows of a table, written by one statement, so that they are there together or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) table: u32,
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Chunk {
    /// All chunks of a table.
    pub(super) fn of(table: u32, dataset: &Dataset) -> impl Iterator<Item = Self> + use<> {
        let rows = dataset.table_size;
        (1..=rows).step_by(CHUNK_ROWS as usize).map(move |first| Self {
            table,
            first,
            last: rows.min(first.saturating_add(CHUNK_ROWS - 1)),
        })
    }

    pub(super) fn rows(self) -> u32 {
        self.last - self.first + 1
    }
}

/// Makes the tables, and the one of large values; what is there of them stays if it is right. `progress` hears the rows that are there,
/// each time that it is more.
pub(super) async fn load<S: SqlSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    make(sessions, dataset, progress).await?;
    load_bulk(&mut sessions[0]).await?;
    parallel::each(sessions, 1..=dataset.tables, async |session, table| {
        check(session, table, dataset).await
    })
    .await?;
    check_bulk(&mut sessions[0]).await
}

/// Makes of the tables what is not there. `progress` hears the rows that are there, each time that it is more.
async fn make<S: SqlSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let chunks: RefCell<Vec<Chunk>> = RefCell::default();
    parallel::each(sessions, 1..=dataset.tables, async |session, table| {
        create(session, table).await?;
        let of_table = missing(session, table, dataset).await?;
        chunks.borrow_mut().extend(of_table);
        Ok(())
    })
    .await?;

    let missing = chunks.into_inner();
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
        create_index(session, table).await?;
        settle(session, table, dataset).await
    })
    .await
}

/// Writes chunks. `written` hears of each how many rows it has.
pub(super) async fn write<S: SqlSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    chunks: impl IntoIterator<Item = Chunk>,
    written: &mut dyn FnMut(u64),
) -> Result<()> {
    let write = async |session: &mut S, chunk| {
        write_chunk(session, chunk, dataset).await?;
        Ok(chunk.rows().into())
    };
    parallel::each_counted(sessions, chunks, write, written).await
}

/// Makes the table if there is none.
pub(super) async fn create<S: SqlSession>(session: &mut S, table: u32) -> Result<()> {
    let (identity, storage) = (S::DIALECT.identity, S::DIALECT.storage);
    let sql = format!(
        "CREATE TABLE IF NOT EXISTS sbtest{table} (\
         id {identity}, \
         k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL, \
         PRIMARY KEY (id)){storage}"
    );
    Ok(run(session, &sql).await?)
}

pub(super) async fn is_empty(session: &mut impl SqlSession, table: u32) -> Result<bool> {
    let row = session
        .query(&format!("SELECT id FROM sbtest{table} LIMIT 1"))
        .await?;
    Ok(row.is_empty())
}

/// Adds the index of `k` if there is none: after the rows, as sysbench does.
async fn create_index(session: &mut impl SqlSession, table: u32) -> Result<()> {
    if index(session, table).await?.is_empty() {
        run(session, &format!("CREATE INDEX k_{table} ON sbtest{table}(k)")).await?;
    }
    Ok(())
}

/// The chunks of a table that are not there, or not as they were written. Rows that do not belong into the table are
/// removed.
async fn missing(session: &mut impl SqlSession, table: u32, dataset: &Dataset) -> Result<Vec<Chunk>> {
    let rows = dataset.table_size;
    let foreign = format!("DELETE FROM sbtest{table} WHERE id < 1 OR id > {rows}");
    run(session, &foreign).await?;
    let counts = session
        .query(&format!(
            "SELECT id - 1 - (id - 1) % {CHUNK_ROWS}, COUNT(*), \
             COUNT(CASE WHEN LENGTH(c) = {C_LENGTH} AND LENGTH(pad) = {PAD_LENGTH} THEN 1 END) FROM sbtest{table} \
             GROUP BY 1 ORDER BY 1"
        ))
        .await?;
    let mut counts = counts.iter().peekable();
    let mut missing = Vec::new();
    for chunk in Chunk::of(table, dataset) {
        let there = counts.next_if(|count| count.text(0) == (chunk.first - 1).to_string());
        let rows = chunk.rows().to_string();
        if there.is_none_or(|count| count.text(1) != rows || count.text(2) != rows) {
            missing.push(chunk);
        }
    }
    Ok(missing)
}

/// Writes a chunk in the place of whatever is there of it: damaged rows, or what a session that was cut off a moment
/// ago has still written. Its rows depend on nothing else, so that the same are made every time.
async fn write_chunk<S: SqlSession>(session: &mut S, chunk: Chunk, dataset: &Dataset) -> Result<()> {
    let mut rows = rows::<S>(chunk, dataset);
    match session.load(&mut rows).await {
        Err(error) if error.is_duplicate() => {
            let Chunk { table, first, last } = chunk;
            let there = format!("DELETE FROM sbtest{table} WHERE id BETWEEN {first} AND {last}");
            run(session, &there).await?;
            session.load(&mut rows).await?;
        }
        loaded => drop(loaded?),
    }
    Ok(())
}

/// Has the server know how large the table is, and count on after its rows.
async fn settle<S: SqlSession>(session: &mut S, table: u32, dataset: &Dataset) -> Result<()> {
    let name = format!("sbtest{table}");
    if let Some(continue_identity) = S::DIALECT.continue_identity {
        run(session, &continue_identity(&name, dataset.table_size)).await?;
    }
    Ok(vacuum(session, &name).await?)
}

/// Makes sure that the table holds what was written; reads all of it, so that it is in memory.
pub(super) async fn check(session: &mut impl SqlSession, table: u32, dataset: &Dataset) -> Result<()> {
    let rows = session
        .query(&format!(
            "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MAX(LENGTH(c)), MIN(LENGTH(pad)), MAX(LENGTH(pad)) \
             FROM {}.sbtest{table}",
            SCHEMA.quoted()
        ))
        .await?;
    let name = format!("sbtest{table}");
    let [size, c, pad] = [dataset.table_size as usize, C_LENGTH, PAD_LENGTH].map(|count| count.to_string());
    expect(&name, &rows, &[&size, "1", &size, &c, &c, &pad, &pad])?;
    let columns = index(session, table).await?;
    if columns != ["k"] {
        return Err(DatasetError::Wrong(format!(
            "{name} has an index of {columns:?}, expected one of k"
        )));
    }
    Ok(())
}

/// The columns of the index of `k`; none if there is no index.
async fn index<S: SqlSession>(session: &mut S, table: u32) -> Result<Vec<String>> {
    let columns = S::DIALECT.index_columns;
    let question = columns(&SCHEMA, &format!("sbtest{table}"), &format!("k_{table}"));
    let rows = session.query(&question).await?;
    Ok(rows.iter().map(|row| row.text(0)).collect())
}

fn rows<S: SqlSession>(chunk: Chunk, dataset: &Dataset) -> Query {
    let Chunk { table, first, last } = chunk;
    let mut random = Pcg64Mcg::seed_from_u64(u64::from(table) << 32 | u64::from(first));
    let picker = Picker::new(dataset.distribution, 1..=dataset.table_size);
    let loading = S::DIALECT.loading;
    let mut buffer = Query::new(&statement(loading, &format!("sbtest{table}(id, k, c, pad)")));
    let mut rows = Rows::after(loading, &mut buffer);
    for id in first..=last {
        rows.begin_row();
        rows.number(id);
        rows.number(picker.pick(&mut random));
        rows.text(C_LENGTH, |c| fill_groups(c, &mut random));
        rows.text(PAD_LENGTH, |pad| fill_groups(pad, &mut random));
        rows.end_row();
    }
    buffer
}

/// Rows of the bulk table.
pub const BULK_ROWS: u32 = 16;
/// Bytes of all payloads of the bulk table.
pub const BULK_BYTES: u64 = BULK_ROWS as u64 * BULK_ROW_BYTES as u64;

const BULK_ROW_BYTES: usize = 64 * 1024;

/// Makes the table unless it is there and right.
async fn load_bulk<S: SqlSession>(session: &mut S) -> Result<()> {
    let (bytes, storage) = (S::DIALECT.bytes, S::DIALECT.storage);
    let create = format!(
        "CREATE TABLE IF NOT EXISTS bulk (id INTEGER NOT NULL PRIMARY KEY, payload {bytes} NOT NULL){storage}"
    );
    run(session, &create).await?;
    if check_bulk(session).await.is_ok() {
        return Ok(());
    }
    run(session, "DELETE FROM bulk").await?;
    let mut random = Pcg64Mcg::seed_from_u64(0);
    let mut payload = vec![0; BULK_ROW_BYTES];
    for id in 0..BULK_ROWS {
        random.fill_bytes(&mut payload);
        let [before, after] = S::DIALECT.around_bytes;
        let digits: String = payload
            .iter()
            .flat_map(|byte| hexadecimal(*byte))
            .map(char::from)
            .collect();
        let insert = format!("INSERT INTO bulk VALUES ({id}, {before}{}{after})", digits);
        run(session, &insert).await?;
    }
    Ok(())
}

/// Makes sure that the table holds what was written; reads all of it, so that it is in memory.
pub(super) async fn check_bulk(session: &mut impl SqlSession) -> Result<()> {
    let rows = session
        .query(&format!(
            "SELECT COUNT(*), SUM(LENGTH(payload)) FROM {}.bulk",
            SCHEMA.quoted()
        ))
        .await?;
    expect("bulk", &rows, &[&BULK_ROWS.to_string(), &BULK_BYTES.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_every_row_once() {
        for table_size in [1, 999, 1000, 1001, 2500] {
            let dataset = Dataset {
                table_size,
                ..Dataset::default()
            };
            let mut next = 1;
            for chunk in Chunk::of(7, &dataset) {
                assert_eq!((chunk.table, chunk.first), (7, next));
                next += chunk.rows();
            }
            assert_eq!(next, table_size + 1);
        }
    }
}
