//! The sets of tables that a study needs, and the statements that make, count and remove the tables of one.

use ciphertax_columns::MasterKey;
use ciphertax_model::tpcc::{COLUMNS, SqlType, TABLES, TpccColumn};
use ciphertax_model::{Arm, CellEncoding, ColumnEncryption, ColumnFeature, Study, Tpcc};

use super::config::CONFIG_TABLE;
use super::state::CHUNKS_TABLE;
use super::table::{Table, TableNames};
use super::writer::{Cells, cell_length};
use crate::dataset::SCHEMA;
use crate::dataset::mark::{run, wanted_key};
use crate::dataset::{DatasetError, Result};
use crate::sql::{Dialect, SqlSession};

/// Changes with what the tables hold, so that nothing of another version is taken for right.
const CONTENT: &str = "content 1";

/// TPC-C's tables.
#[derive(Debug, Clone, PartialEq)]
pub struct TpccContents {
    /// How large they are.
    pub tables: Tpcc,
    /// One set for all arms; or one for each measured arm, in their order, where any stores cells.
    pub sets: Vec<TpccSet>,
    /// What stored cells are encrypted with; needed where a set has any.
    pub key: Option<MasterKey>,
}

/// A set of TPC-C's tables.
#[derive(Debug, Clone, PartialEq)]
pub struct TpccSet {
    /// What they are called.
    pub names: TableNames,
    /// Which columns hold cells; `None` for plain ones.
    pub stored: Option<ColumnEncryption>,
}

impl TpccSet {
    /// True if a column of its tables holds cells.
    pub fn holds_cells(&self, table: &str, column: &str) -> bool {
        let is_it = |found: &&TpccColumn| found.table == table && found.column == column;
        match (&self.stored, COLUMNS.iter().find(is_it)) {
            (Some(stored), Some(column)) => column.is_in(&stored.columns),
            _ => false,
        }
    }
}

impl TpccContents {
    /// One set of plain tables.
    pub fn plain(tables: Tpcc) -> Self {
        Self {
            tables,
            sets: vec![TpccSet {
                names: TableNames::ONLY,
                stored: None,
            }],
            key: None,
        }
    }

    /// What a study needs, still without a key.
    pub fn of(study: &Study) -> Self {
        let stored = |columns: &ColumnEncryption| columns.feature == ColumnFeature::Stored;
        let measured = study.measured_arms();
        let are_stored = measured
            .iter()
            .any(|arm| arm.columns.as_ref().is_some_and(stored));
        if !are_stored {
            return Self::plain(study.tpcc);
        }
        let set = |(set, arm): (u32, Arm)| TpccSet {
            names: TableNames::of_set(set),
            stored: arm.columns.filter(stored),
        };
        Self {
            tables: study.tpcc,
            sets: (0..).zip(measured).map(set).collect(),
            key: None,
        }
    }

    /// The names of the tables of all sets, and of those that say how far loading them came.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let of_sets = self
            .sets
            .iter()
            .flat_map(|set| TABLES.map(|table| set.names.of(table).to_string()));
        of_sets.chain([CONFIG_TABLE, CHUNKS_TABLE].map(str::to_owned))
    }

    /// Rows of all tables of all sets, about.
    pub fn rows(&self) -> u64 {
        self.tables.rows() * self.sets.len() as u64
    }

    /// What makes the cells of each set, for one session; `None` for a plain set.
    pub(super) fn cells(&self) -> impl Iterator<Item = Result<Option<Cells>>> {
        self.sets.iter().map(|set| {
            let Some(stored) = &set.stored else {
                return Ok(None);
            };
            let Some(key) = &self.key else {
                return Err(DatasetError::Cells("there is no master key".to_owned()));
            };
            let cells = Cells::open(stored, key).map_err(|error| DatasetError::Cells(error.to_string()))?;
            Ok(Some(cells))
        })
    }

    /// What they hold, in few words: of several sets a number that changes with what any of them holds and with the key, so that
    /// what was encrypted with another is not taken for right.
    pub(crate) fn description(&self) -> String {
        let stored = |set: &TpccSet| match &set.stored {
            None => "plain".to_owned(),
            Some(stored) => stored.to_string(),
        };
        let sets: Vec<String> = self.sets.iter().map(stored).collect();
        let sets = match (self.sets.len(), &self.key) {
            (1, None) => String::new(),
            (number, None) => format!(" in {number} sets without a key"),
            (number, Some(key)) => match key.fingerprint(&sets.join("; ")) {
                Ok(fingerprint) => format!(" in {number} sets, {fingerprint}"),
                // Whoever cannot tell them apart makes them anew.
                Err(_) => format!(" in {number} sets of an unknown key"),
            },
        };
        format!("{}{sets}, {CONTENT}", self.tables)
    }
}

/// Makes a table with its primary key, unless it is there.
pub(super) async fn create<S: SqlSession>(session: &mut S, set: &TpccSet, table: Table) -> Result<()> {
    let key = match table.primary_key() {
        [] => wanted_key(session).await?,
        key => format!(", PRIMARY KEY ({})", key.join(", ")),
    };
    let dialect = &S::DIALECT;
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
    let storage = dialect.storage;
    let columns = columns.join(", ");
    Ok(run(
        session,
        &format!("CREATE TABLE IF NOT EXISTS {name} ({columns}{key}){storage}"),
    )
    .await?)
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
pub(super) async fn create_index<S: SqlSession>(session: &mut S, set: &TpccSet, table: Table) -> Result<()> {
    let Some(secondary) = table.secondary() else {
        return Ok(());
    };
    let name = set.names.of(table.name()).to_string();
    let index = format!("{}_{name}", secondary.name);
    let there = session
        .query(&(S::DIALECT.index_columns)(&SCHEMA, &name, &index))
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

pub(super) async fn drop_table(session: &mut impl SqlSession, set: &TpccSet, table: Table) -> Result<()> {
    let name = set.names.of(table.name());
    Ok(run(session, &format!("DROP TABLE IF EXISTS {name}")).await?)
}

/// Has the server know how large a table is: without, the questions that follow take twenty times as long.
pub(super) async fn analyze<S: SqlSession>(session: &mut S, set: &TpccSet, table: Table) -> Result<()> {
    let name = set.names.of(table.name());
    Ok(run(session, &format!("{}{name}", S::DIALECT.analyze)).await?)
}

/// The only number that a question has for its answer.
pub(super) async fn number(session: &mut impl SqlSession, question: &str) -> Result<u64> {
    let rows = session.query(question).await?;
    let text = rows.first().map(|row| row.text(0)).unwrap_or_default();
    text.parse()
        .map_err(|_| DatasetError::Wrong(format!("{question} says {text:?}")))
}
