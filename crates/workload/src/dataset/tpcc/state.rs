//! The state of the tables: what of them is there, whether it is right, and how much larger they have become.
//!
//! A chunk is marked in the transaction that writes it, so that a marked chunk is there as a whole and an unmarked one is not there at
//! all, whatever its columns hold. Transactions of a run leave relations between the tables' sizes true, by which tables that were
//! worked on are told from damaged ones.

use std::collections::HashSet;

use ciphertax_model::Tpcc;

use super::contents::{TpccContents, TpccSet, number};
use super::population::rows_of;
use super::table::{Chunk, Table, TableNames};
use crate::dataset::SCHEMA;
use crate::dataset::mark::run;
use crate::dataset::{DatasetError, Result};
use crate::sql::{SqlSession, TextRow};

/// The chunks that are there, by the names of their tables.
pub(super) const CHUNKS_TABLE: &str = "tpcc_chunks";

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

pub(super) async fn marks<S: SqlSession>(session: &mut S) -> Result<Marks> {
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
            "SELECT table_name, warehouse FROM {}.{CHUNKS_TABLE}",
            SCHEMA.quoted()
        ))
        .await?;
    let mark = |row: &TextRow| Some((row.text(0), row.text(1).parse().ok()?));
    Ok(rows.iter().filter_map(mark).collect())
}

pub(super) fn mark(set: &TpccSet, chunk: Chunk) -> String {
    let (table, warehouse) = key(set, chunk);
    format!("INSERT INTO {CHUNKS_TABLE} VALUES ('{table}', {warehouse})")
}

/// By what a chunk is marked.
pub(super) fn key(set: &TpccSet, chunk: Chunk) -> (String, u32) {
    (set.names.of(chunk.table.name()).to_string(), chunk.warehouse)
}

/// Removes the marks of a table's chunks.
pub(super) async fn forget(session: &mut impl SqlSession, set: &TpccSet, table: Table) -> Result<()> {
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
) -> Result<bool> {
    let chunks = Chunk::of(contents.tables.warehouses).filter(|chunk| chunk.table == table);
    let marked = chunks.filter(|chunk| marks.contains(&key(set, *chunk)));
    let expected: u64 = marked.map(|chunk| u64::from(rows_of(chunk))).sum();
    Ok(number(session, &count(&name(set, table))).await? == expected)
}

/// True if no transaction has worked on a set, as far as it can be seen in its smallest tables.
pub(super) async fn is_unused(session: &mut impl SqlSession, set: &TpccSet) -> Result<bool> {
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
    pub(super) async fn check(&self, session: &mut impl SqlSession) -> Result<()> {
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
    format!("{}.{}", SCHEMA.quoted(), set.names.of(table.name()))
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
pub async fn growth(session: &mut impl SqlSession, names: TableNames) -> Result<f64> {
    let district = names.of(Table::District.name());
    let rows = session
        .query(&format!(
            "SELECT SUM(d_next_o_id - 1), COUNT(*) FROM {}.{district}",
            SCHEMA.quoted()
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
