//! The tables of pgbench, as `pgbench --initialize` makes them (PostgreSQL 15 and 18).

use ciphertax_engine::Part;
use ciphertax_model::Pgbench;

use super::SCHEMA;
use super::mark::{DatasetError, Result, expect, is_right, run, vacuum, wanted_key};
use super::parallel;
use crate::sql::rows::{Rows, statement};
use crate::sql::session::{Query, SqlSession};

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

/// The names of all.
pub(super) const NAMES: [&str; 4] = ["pgbench_branches", "pgbench_tellers", "pgbench_accounts", HISTORY];
const HISTORY: &str = "pgbench_history";

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
    fn write(self, rows: &mut Rows<'_>, key: u32) {
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

/// Consecutive rows of a table, written by one statement, so that they are there together or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk {
    kind: Kind,
    table: &'static str,
    first: u32,
    last: u32,
}

impl Chunk {
    /// All chunks of all tables.
    fn of(tables: &Pgbench) -> impl Iterator<Item = Self> {
        TABLES.into_iter().flat_map(|(kind, table, ..)| {
            let rows = kind.rows(tables);
            (1..=rows).step_by(CHUNK_ROWS as usize).map(move |first| Self {
                kind,
                table,
                first,
                last: rows.min(first.saturating_add(CHUNK_ROWS - 1)),
            })
        })
    }

    fn rows(self) -> u32 {
        self.last - self.first + 1
    }
}

/// Has the tables there, and tells whether they hold nothing: then several processes may write a part each by [`write_part`], before
/// [`load`] makes the rest.
pub(super) async fn begin(session: &mut impl SqlSession) -> Result<bool> {
    if are_there(session).await? && !is_empty(session).await? {
        return Ok(false);
    }
    create(session).await?;
    Ok(true)
}

/// Makes the tables unless they are there and right; balances may be any. `progress` hears the rows that are there, each
/// time that it is more.
pub(super) async fn load<S: SqlSession>(
    sessions: &mut [S],
    tables: &Pgbench,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let has_rows =
        are_there(&mut sessions[0]).await? && is_right(check_rows(&mut sessions[0], tables).await)?;
    if has_rows {
        progress(tables.rows());
    } else {
        create(&mut sessions[0]).await?;
        let mut there = 0;
        write(sessions, Chunk::of(tables), &mut |rows| {
            there += rows;
            progress(there);
        })
        .await?;
    }
    // After the rows, as pgbench does.
    parallel::each(sessions, TABLES, async |session, (_, table, key, _)| {
        if is_right(check_key(session, table, key).await)? {
            return Ok(());
        }
        let added = run(session, &format!("ALTER TABLE {table} ADD PRIMARY KEY ({key})")).await;
        // A session of a run that was killed may still have been at it.
        if added.is_err() && is_right(check_key(session, table, key).await)? {
            return Ok(());
        }
        added?;
        Ok(vacuum(session, table).await?)
    })
    .await?;
    if !has_rows {
        check_rows(&mut sessions[0], tables).await?;
    }
    check_keys(&mut sessions[0]).await
}

/// Writes a part of the rows of tables that are there and hold nothing. `written` hears of each chunk how many they are.
pub(super) async fn write_part<S: SqlSession>(
    sessions: &mut [S],
    tables: &Pgbench,
    part: Part,
    written: &mut dyn FnMut(u64),
) -> Result<()> {
    write(sessions, part.own(Chunk::of(tables)), written).await
}

async fn write<S: SqlSession>(
    sessions: &mut [S],
    chunks: impl Iterator<Item = Chunk>,
    written: &mut dyn FnMut(u64),
) -> Result<()> {
    let write = async |session: &mut S, chunk: Chunk| {
        let Chunk {
            kind,
            table,
            first,
            last,
        } = chunk;
        let loading = S::DIALECT.loading;
        let mut buffer = Query::new(&statement(loading, &format!("{table}({})", kind.columns())));
        let mut rows = Rows::after(loading, &mut buffer);
        (first..=last).for_each(|key| kind.write(&mut rows, key));
        session.load(&mut buffer).await?;
        Ok(chunk.rows().into())
    };
    parallel::each_counted(sessions, chunks, write, written).await
}

/// Makes sure that the tables hold what was written, but for balances and history; reads all of it, so that it is in
/// memory.
async fn check_rows(session: &mut impl SqlSession, tables: &Pgbench) -> Result<()> {
    for (kind, table, key, _) in TABLES {
        let question = format!(
            "SELECT COUNT(*), MIN({key}), MAX({key}) FROM {}.{table}",
            SCHEMA.quoted()
        );
        let rows = session.query(&question).await?;
        let size = kind.rows(tables).to_string();
        expect(table, &rows, &[&size, "1", &size])?;
    }
    Ok(())
}

async fn check_keys(session: &mut impl SqlSession) -> Result<()> {
    for (_, table, key, _) in TABLES {
        check_key(session, table, key).await?;
    }
    Ok(())
}

async fn check_key<S: SqlSession>(session: &mut S, table: &str, key: &str) -> Result<()> {
    let index = (S::DIALECT.primary_key)(table);
    let columns = (S::DIALECT.index_columns)(&SCHEMA, table, &index);
    let columns = session.query(&columns).await?;
    match columns.iter().map(|row| row.text(0)).eq([key]) {
        true => Ok(()),
        false => Err(DatasetError::Wrong(format!("{table} has no primary key {key}"))),
    }
}

async fn are_there<S: SqlSession>(session: &mut S) -> Result<bool> {
    let there = session.query(&(S::DIALECT.tables)(&SCHEMA, "pgbench")).await?;
    let is_there = |name: &str| there.iter().any(|row| row.text(0) == name);
    Ok(NAMES.into_iter().all(is_there))
}

/// Whether there is no account: who is alone writes them last, and of every part most are accounts.
async fn is_empty(session: &mut impl SqlSession) -> Result<bool> {
    let account = session.query("SELECT aid FROM pgbench_accounts LIMIT 1").await?;
    Ok(account.is_empty())
}

/// Makes the tables anew, without keys unless the server wants them.
async fn create<S: SqlSession>(session: &mut S) -> Result<()> {
    let storage = S::DIALECT.storage;
    let wanted = wanted_key(session).await?;
    let history = format!(
        "tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TIMESTAMP, filler CHAR(22){wanted}"
    );
    let is_key = if wanted.is_empty() { "" } else { " PRIMARY KEY" };
    let with_keys =
        TABLES.map(|(_, table, key, columns)| (table, format!("{key} INTEGER NOT NULL{is_key}, {columns}")));
    for (table, columns) in with_keys.into_iter().chain([(HISTORY, history)]) {
        run(session, &format!("DROP TABLE IF EXISTS {table}")).await?;
        run(session, &format!("CREATE TABLE {table} ({columns}){storage}")).await?;
    }
    Ok(())
}
