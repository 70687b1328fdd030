//! The statements that make, count and remove the tables of a set.

use ciphertax_model::tpcc::{SqlType, TpccColumn};
use ciphertax_model::{CellEncoding, ColumnEncryption};

use super::cells::cell_length;
use super::contents::TpccSet;
use super::table::Table;
use crate::dataset::DatasetError;
use crate::dataset::mark::{SCHEMA, run};
use crate::sql::{Dialect, SqlSession};

/// Makes a table with its primary key, unless it is there.
pub(super) async fn create<S: SqlSession>(
    session: &mut S,
    set: &TpccSet,
    table: Table,
) -> Result<(), DatasetError> {
    Ok(run(session, &create_statement(&S::DIALECT, set, table)).await?)
}

fn create_statement(dialect: &Dialect, set: &TpccSet, table: Table) -> String {
    let name = set.names.of(table.name());
    let columns: Vec<String> = table
        .columns()
        .map(|column| {
            let nullable = if column.nullable { "" } else { " NOT NULL" };
            format!(
                "{} {}{nullable}",
                column.column,
                column_type(dialect, set, column)
            )
        })
        .collect();
    let key = match table.primary_key() {
        [] => String::new(),
        key => format!(", PRIMARY KEY ({})", key.join(", ")),
    };
    let storage = dialect.storage;
    format!(
        "CREATE TABLE IF NOT EXISTS {name} ({}{key}){storage}",
        columns.join(", ")
    )
}

fn column_type(dialect: &Dialect, set: &TpccSet, column: &TpccColumn) -> String {
    match &set.stored {
        Some(stored) if column.is_in(&stored.columns) => cell_type(dialect, stored, column),
        _ => match column.sql_type {
            SqlType::Integer => "INTEGER".to_owned(),
            SqlType::Decimal(precision, scale) => format!("DECIMAL({precision}, {scale})"),
            SqlType::Char(length) => format!("CHAR({length})"),
            SqlType::Varchar(length) => format!("VARCHAR({length})"),
            SqlType::Timestamp => dialect.date.to_owned(),
        },
    }
}

/// A type for cells, which are equal if all their bytes are.
fn cell_type(dialect: &Dialect, stored: &ColumnEncryption, column: &TpccColumn) -> String {
    let length = cell_length(stored, column.sql_type.text_length());
    match stored.encoding {
        CellEncoding::Base64 => format!("VARCHAR({length}){}", dialect.bytewise_ascii),
        CellEncoding::Binary => (dialect.short_bytes)(length as usize),
    }
}

/// Makes the table's second index, unless it is there: after the rows, which is less work. A column at its end that holds cells is
/// left out, since cells have no order that anyone asks for.
pub(super) async fn create_index<S: SqlSession>(
    session: &mut S,
    set: &TpccSet,
    table: Table,
) -> Result<(), DatasetError> {
    let Some(secondary) = table.secondary() else {
        return Ok(());
    };
    let name = set.names.of(table.name()).to_string();
    let index = format!("{}_{name}", secondary.name);
    let there = session
        .query(&(S::DIALECT.index_columns)(SCHEMA, &name, &index))
        .await?;
    if !there.is_empty() {
        return Ok(());
    }
    let holds_cells = |name: &str| {
        let stored = set.stored.as_ref();
        stored.is_some_and(|stored| {
            table
                .columns()
                .any(|column| column.column == name && column.is_in(&stored.columns))
        })
    };
    let columns = match secondary.columns {
        [columns @ .., last] if holds_cells(last) => columns,
        columns => columns,
    };
    let columns = columns.join(", ");
    Ok(run(session, &format!("CREATE INDEX {index} ON {name} ({columns})")).await?)
}

/// Removes a table, if it is there.
pub(super) async fn drop_table(
    session: &mut impl SqlSession,
    set: &TpccSet,
    table: Table,
) -> Result<(), DatasetError> {
    let name = set.names.of(table.name());
    Ok(run(session, &format!("DROP TABLE IF EXISTS {name}")).await?)
}

/// Has the server know how large a table is: without, the questions that follow take twenty times as long.
pub(super) async fn analyze<S: SqlSession>(
    session: &mut S,
    set: &TpccSet,
    table: Table,
) -> Result<(), DatasetError> {
    let name = set.names.of(table.name());
    Ok(run(session, &format!("{}{name}", S::DIALECT.analyze)).await?)
}

/// The only number that a question has for its answer.
pub(super) async fn number(session: &mut impl SqlSession, question: &str) -> Result<u64, DatasetError> {
    let rows = session.query(question).await?;
    let text = rows.first().map(|row| row.text(0)).unwrap_or_default();
    text.parse()
        .map_err(|_| DatasetError::Wrong(format!("{question} says {text:?}")))
}
