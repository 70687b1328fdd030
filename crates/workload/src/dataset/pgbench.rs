//! The tables of pgbench, as `pgbench --initialize` makes them (PostgreSQL 15 and 18).

use std::cell::RefCell;

use ciphertax_model::Pgbench;

use super::error::DatasetError;
use super::parallel;
use super::question::{expect, run, vacuum};
use super::schema::SCHEMA;
use crate::sql::rows::{Rows, statement};
use crate::sql::session::{DataSession, Query, Row, SqlSession};

/// Rows of a statement.
const CHUNK_ROWS: u32 = 10_000;

/// The tables with a row of their own each for branches, tellers and accounts; their key, and their other columns.
const TABLES: [(Kind, &str, &str, &str); 3] = [
    (
        Kind::Branches,
        "pgbench_branches",
        "bid",
        "bbalance INTEGER, filler CHAR(88)",
    ),
    (
        Kind::Tellers,
        "pgbench_tellers",
        "tid",
        "bid INTEGER, tbalance INTEGER, filler CHAR(84)",
    ),
    (
        Kind::Accounts,
        "pgbench_accounts",
        "aid",
        "bid INTEGER, abalance INTEGER, filler CHAR(84)",
    ),
];

/// What a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Branches,
    Tellers,
    Accounts,
}

impl Kind {
    fn rows(self, tables: &Pgbench) -> u32 {
        match self {
            Self::Branches => tables.scale,
            Self::Tellers => tables.tellers(),
            Self::Accounts => tables.accounts(),
        }
    }

    /// The columns that a row is written with; the others stay NULL.
    fn columns(self) -> &'static str {
        match self {
            Self::Branches => "bid, bbalance",
            Self::Tellers => "tid, bid, tbalance",
            Self::Accounts => "aid, bid, abalance, filler",
        }
    }

    /// Writes the row of this key, from 1.
    fn write<Q: Query>(self, rows: &mut Rows<'_, Q>, key: u32) {
        rows.begin_row();
        rows.number(key);
        match self {
            Self::Branches => {}
            Self::Tellers => rows.number((key - 1) / Pgbench::TELLERS + 1),
            Self::Accounts => rows.number((key - 1) / Pgbench::ACCOUNTS + 1),
        }
        rows.number(0);
        if self == Self::Accounts {
            rows.text(0, |_| ());
        }
        rows.end_row();
    }
}

/// Makes the tables unless they are there and right; balances may be any. `progress` hears the rows that are there, each
/// time that it is more.
pub(super) async fn load<S: DataSession>(
    sessions: &mut [S],
    tables: &Pgbench,
    mut progress: impl FnMut(u64),
) -> Result<(), DatasetError> {
    if is_right(&mut sessions[0], tables).await? {
        progress(tables.rows());
        return Ok(());
    }
    create(&mut sessions[0]).await?;
    let mut there = 0;
    let written = RefCell::new(|rows: u32| {
        there += u64::from(rows);
        progress(there);
    });
    let chunks = TABLES.into_iter().flat_map(|(kind, table, ..)| {
        let rows = kind.rows(tables);
        (1..=rows)
            .step_by(CHUNK_ROWS as usize)
            .map(move |first| (kind, table, first, rows.min(first.saturating_add(CHUNK_ROWS - 1))))
    });
    parallel::each(sessions, chunks, async |session, (kind, table, first, last)| {
        let loading = S::DIALECT.loading;
        let mut buffer = S::Rows::new(&statement(loading, &format!("{table}({})", kind.columns())));
        let mut rows = Rows::after(loading, &mut buffer);
        (first..=last).for_each(|key| kind.write(&mut rows, key));
        session.load(&mut buffer).await?;
        written.borrow_mut()(last - first + 1);
        Ok(())
    })
    .await?;
    // After the rows, as pgbench does.
    parallel::each(sessions, TABLES, async |session, (_, table, key, _)| {
        run(session, &format!("ALTER TABLE {table} ADD PRIMARY KEY ({key})")).await?;
        Ok(vacuum(session, table).await?)
    })
    .await?;
    check(&mut sessions[0], tables).await
}

/// Makes sure that the tables hold what was written, but for balances and history; reads all of it, so that it is in
/// memory.
pub(super) async fn check<S: SqlSession>(session: &mut S, tables: &Pgbench) -> Result<(), DatasetError> {
    for (kind, table, key, _) in TABLES {
        let question = format!("SELECT COUNT(*), MIN({key}), MAX({key}) FROM {SCHEMA}.{table}");
        let rows = session.query(&question).await?;
        let size = kind.rows(tables).to_string();
        expect(table, &rows, &[&size, "1", &size])?;
        let index = (S::DIALECT.primary_key)(table);
        let columns = (S::DIALECT.index_columns)(SCHEMA, table, &index);
        let columns = session.query(&columns).await?;
        if !columns.iter().map(|row| row.text(0)).eq([key]) {
            return Err(DatasetError::Wrong(format!("{table} has no primary key {key}")));
        }
    }
    Ok(())
}

/// False where a table is not there, too.
async fn is_right<S: SqlSession>(session: &mut S, tables: &Pgbench) -> Result<bool, DatasetError> {
    let there = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name LIKE 'pgbench%'"
    );
    let there = session.query(&there).await?;
    if there.first().map(|row| row.text(0)).as_deref() != Some("4") {
        return Ok(false);
    }
    match check(session, tables).await {
        Ok(()) => Ok(true),
        Err(DatasetError::Wrong(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes the tables anew, without keys.
async fn create<S: SqlSession>(session: &mut S) -> Result<(), DatasetError> {
    let storage = S::DIALECT.storage;
    let history =
        "tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TIMESTAMP, filler CHAR(22)".to_owned();
    let with_keys =
        TABLES.map(|(_, table, key, columns)| (table, format!("{key} INTEGER NOT NULL, {columns}")));
    for (table, columns) in with_keys.into_iter().chain([("pgbench_history", history)]) {
        run(session, &format!("DROP TABLE IF EXISTS {table}")).await?;
        run(session, &format!("CREATE TABLE {table} ({columns}){storage}")).await?;
    }
    Ok(())
}
