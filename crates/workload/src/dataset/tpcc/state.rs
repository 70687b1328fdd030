//! What of the tables is there, and whether it is right.
//!
//! A chunk is marked in the transaction that writes it, so that a marked chunk is there as a whole and an unmarked one is not there at
//! all, whatever its columns hold. Transactions of a run leave relations between the tables' sizes true, by which tables that were
//! worked on are told from damaged ones.

use std::collections::HashSet;

use ciphertax_model::Tpcc;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::contents::{TpccContents, TpccSet, number};
use super::population::rows_of;
use super::random::A_C_LAST;
use super::table::{Chunk, Table, TableNames};
use crate::dataset::DatasetError;
use crate::dataset::mark::{SCHEMA, run};
use crate::sql::{SqlSession, TextRow};

/// The chunks that are there, by the names of their tables.
const CHUNKS_TABLE: &str = "tpcc_chunks";

/// Orders of a district before anything was asked, as SQL says it.
const FIRST_NEXT_ORDER: u32 = ciphertax_model::Tpcc::ORDERS + 1;

/// The chunks that are there, by table and warehouse.
pub(super) type Marks = HashSet<(String, u32)>;

/// Two numbers that are equal.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    table: String,
    question: String,
    expected: Expected,
}

#[derive(Debug, Clone)]
enum Expected {
    Number(u64),
    Answer(String),
}

/// The chunks that are marked.
pub(super) async fn marks<S: SqlSession>(session: &mut S) -> Result<Marks, DatasetError> {
    let storage = S::DIALECT.storage;
    run(
        session,
        &format!(
            "CREATE TABLE IF NOT EXISTS {CHUNKS_TABLE} (table_name VARCHAR(40) NOT NULL, warehouse INTEGER NOT NULL, \
             PRIMARY KEY (table_name, warehouse)){storage}"
        ),
    )
    .await?;
    let rows = session
        .query(&format!(
            "SELECT table_name, warehouse FROM {SCHEMA}.{CHUNKS_TABLE}"
        ))
        .await?;
    let mark = |row: &TextRow| Some((row.text(0), row.text(1).parse().ok()?));
    Ok(rows.iter().filter_map(mark).collect())
}

/// The statement that marks a chunk.
pub(super) fn mark(set: &TpccSet, chunk: Chunk) -> String {
    let (table, warehouse) = key(set, chunk);
    format!("INSERT INTO {CHUNKS_TABLE} VALUES ('{table}', {warehouse})")
}

/// By what a chunk is marked.
pub(super) fn key(set: &TpccSet, chunk: Chunk) -> (String, u32) {
    (set.names.of(chunk.table.name()).to_string(), chunk.warehouse)
}

/// Removes the marks of a table's chunks.
pub(super) async fn forget(
    session: &mut impl SqlSession,
    set: &TpccSet,
    table: Table,
) -> Result<(), DatasetError> {
    let name = set.names.of(table.name());
    Ok(run(
        session,
        &format!("DELETE FROM {CHUNKS_TABLE} WHERE table_name = '{name}'"),
    )
    .await?)
}

/// True if a table has as many rows as its marked chunks.
pub(super) async fn is_as_marked(
    session: &mut impl SqlSession,
    contents: &TpccContents,
    set: &TpccSet,
    table: Table,
    marks: &Marks,
) -> Result<bool, DatasetError> {
    let chunks = Chunk::of(contents.tables.warehouses).filter(|chunk| chunk.table == table);
    let marked = chunks.filter(|chunk| marks.contains(&key(set, *chunk)));
    let expected: u64 = marked.map(|chunk| u64::from(rows_of(chunk))).sum();
    Ok(number(session, &count(&name(set, table))).await? == expected)
}

/// True if no transaction has worked on a set, as far as it can be seen in its smallest tables.
pub(super) async fn is_unused(session: &mut impl SqlSession, set: &TpccSet) -> Result<bool, DatasetError> {
    for (table, column, untouched) in [
        (Table::District, "d_next_o_id", FIRST_NEXT_ORDER),
        (Table::Warehouse, "w_ytd", 300_000),
    ] {
        if set.holds_cells(table.name(), column) {
            continue;
        }
        let table = name(set, table);
        let touched = format!("SELECT COUNT(*) FROM {table} WHERE {column} <> {untouched}");
        if number(session, &touched).await? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is true of a set's tables after they were loaded and after every transaction. Numbers that are cells are left out.
pub(super) fn relations(set: &TpccSet, warehouses: u32) -> Vec<Relation> {
    let always = [
        Table::Item,
        Table::Warehouse,
        Table::District,
        Table::Customer,
        Table::Stock,
    ]
    .into_iter()
    .map(|table| {
        let of_one = u64::from(table.units());
        let times = if table == Table::Item {
            1
        } else {
            u64::from(warehouses)
        };
        (table, Expected::Number(of_one * times))
    });
    let sums = [
        (
            Table::Oorder,
            Table::District,
            "d_next_o_id",
            "SUM(d_next_o_id - 1)",
            "",
        ),
        (
            Table::History,
            Table::Customer,
            "c_payment_cnt",
            "SUM(c_payment_cnt)",
            "",
        ),
        (Table::OrderLine, Table::Oorder, "o_ol_cnt", "SUM(o_ol_cnt)", ""),
    ]
    .into_iter()
    .filter(|(_, of, column, ..)| !set.holds_cells(of.name(), column));
    // NULL stays NULL where numbers are cells.
    let undelivered = (
        Table::NewOrder,
        Table::Oorder,
        "",
        "COUNT(*)",
        " WHERE o_carrier_id IS NULL",
    );
    let sums = sums.chain([undelivered]).map(|(table, of, _, what, filter)| {
        let of = name(set, of);
        (
            table,
            Expected::Answer(format!("SELECT COALESCE({what}, 0) FROM {of}{filter}")),
        )
    });
    always
        .chain(sums)
        .map(|(table, expected)| Relation {
            table: set.names.of(table.name()).to_string(),
            question: count(&name(set, table)),
            expected,
        })
        .collect()
}

impl Relation {
    /// Makes sure that it holds.
    ///
    /// # Errors
    /// Says what differs.
    pub(super) async fn check(&self, session: &mut impl SqlSession) -> Result<(), DatasetError> {
        let found = number(session, &self.question).await?;
        let (expected, why) = match &self.expected {
            Expected::Number(expected) => (*expected, String::new()),
            Expected::Answer(question) => (number(session, question).await?, format!(" by {question}")),
        };
        if found == expected {
            return Ok(());
        }
        Err(DatasetError::Wrong(format!(
            "{} has {found} rows, expected {expected}{why}",
            self.table
        )))
    }
}

fn name(set: &TpccSet, table: Table) -> String {
    format!("{SCHEMA}.{}", set.names.of(table.name()))
}

fn count(table: &str) -> String {
    format!("SELECT COUNT(*) FROM {table}")
}

/// From what growth on tables are to be restored: lines have doubled then.
pub const GROWN: f64 = 2.0;

/// How many times as many orders there are as were loaded, and so lines, of which each order has ten in the mean; 1 before anything
/// was asked. It is read from the counters of the districts, whatever the tables' size.
///
/// # Errors
/// When there are no tables, or the server refuses.
pub async fn growth(session: &mut impl SqlSession, names: TableNames) -> Result<f64, DatasetError> {
    let district = names.of(Table::District.name());
    let rows = session
        .query(&format!(
            "SELECT SUM(d_next_o_id - 1), COUNT(*) FROM {SCHEMA}.{district}"
        ))
        .await?;
    let number = |column| rows.first().and_then(|row| row.text(column).parse::<f64>().ok());
    match (number(0), number(1)) {
        (Some(orders), Some(districts)) if districts > 0.0 => {
            Ok(orders / districts / f64::from(Tpcc::ORDERS))
        }
        _ => Err(DatasetError::Wrong(format!("{district} counts no orders"))),
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
///
/// # Errors
/// When there is none, or the server refuses.
pub(super) async fn read_config(session: &mut impl SqlSession) -> Result<Config, DatasetError> {
    let rows = session
        .query(&format!("SELECT c_load, loaded_at FROM {SCHEMA}.{CONFIG_TABLE}"))
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
pub(super) async fn ensure_config<S: SqlSession>(session: &mut S) -> Result<Config, DatasetError> {
    let storage = S::DIALECT.storage;
    let date = S::DIALECT.date;
    run(
        session,
        &format!(
            "CREATE TABLE IF NOT EXISTS {CONFIG_TABLE} (c_load INTEGER NOT NULL, loaded_at {date} NOT NULL){storage}"
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
