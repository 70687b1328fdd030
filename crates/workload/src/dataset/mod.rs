//! The data set: a schema of ciphertax's own, marked, made, checked and removed; no other is touched.

mod bulk;
mod contents;
mod load;
mod mark;
pub mod mongodb;
mod parallel;
mod sbtest;
mod usertable;

use std::rc::Rc;
use std::time::Duration;

use ciphertax_engine::Failure;
use ciphertax_model::Dataset;
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{ConnectOptions, Session, TextRow};

use crate::ycsb::{Loader, MysqlLoader, Table};

pub use bulk::{BULK_BYTES, BULK_ROWS};
pub use contents::Contents;

/// The only schema that is ever touched.
pub const SCHEMA: &str = "ciphertax";

/// Sessions that load side by side.
const LOADERS: usize = 4;

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A schema of the name exists that ciphertax did not make; what it is called there.
    #[error(
        "the server has a {0} named {SCHEMA} that ciphertax did not make; it is left alone: rename it, or measure \
         another server"
    )]
    NotOurs(&'static str),
    /// The server said no, or went away.
    #[error("the data set cannot be made: {0}")]
    Wire(#[from] WireError),
    /// The server said no, or went away, where its answers are known by their meaning alone.
    #[error("the data set cannot be made: {}", .0.message())]
    Failed(Failure),
    /// Somebody wanted to stop.
    #[error("the data set is not complete: stopped")]
    Stopped,
    /// What is there is not what was written.
    #[error("the data set is not what was written: {0}")]
    Wrong(String),
}

impl From<Failure> for DatasetError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Makes the tables of the `oltp` and bulk workloads; as [`prepare_contents`] with these alone.
///
/// # Errors
/// As [`prepare_contents`].
pub async fn prepare(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    dataset: &Dataset,
    progress: impl FnMut(u64),
) -> Result<(), DatasetError> {
    prepare_contents(
        reactor,
        options,
        &Contents::from(*dataset),
        &mut Vec::new(),
        progress,
    )
    .await
}

/// Makes the data set over sessions of its own. What an interrupted run left of the same data set is kept where it is
/// right. `opened` gets the numbers of the sessions, which a server may still work for when this was given up. `progress`
/// hears the rows that are there, those of all tables, each time that it is more.
///
/// # Errors
/// When the schema is not ciphertax's own, the server refuses, or somebody wants to stop.
pub async fn prepare_contents(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    contents: &Contents,
    opened: &mut Vec<u32>,
    mut progress: impl FnMut(u64),
) -> Result<(), DatasetError> {
    let outside = ConnectOptions {
        database: None,
        ..options.clone()
    };
    let (mut session, _) = Session::connect(reactor, &outside).await?;
    mark::claim(&mut session, contents).await?;
    session.close().await?;

    let inside = ConnectOptions {
        database: Some(SCHEMA.to_owned()),
        ..options.clone()
    };
    let mut there = 0;
    if let Some(dataset) = &contents.sbtest {
        prepare_sbtest(reactor, &inside, dataset, opened, &mut progress).await?;
        there = dataset.rows();
    }
    if let Some(table) = &contents.usertable {
        let mut loaders = Vec::with_capacity(table.load_threads as usize);
        for _ in 0..table.load_threads {
            let (session, _) = Session::connect(reactor, &inside).await?;
            opened.push(session.id());
            loaders.push(MysqlLoader::new(session, Table::Usertable, table));
        }
        usertable::load(&mut loaders, table, |records| progress(there + records)).await?;
        for loader in loaders {
            loader.close().await?;
        }
    }
    Ok(())
}

async fn prepare_sbtest(
    reactor: &Rc<Reactor>,
    inside: &ConnectOptions,
    dataset: &Dataset,
    opened: &mut Vec<u32>,
    progress: impl FnMut(u64),
) -> Result<(), DatasetError> {
    let mut sessions = Vec::with_capacity(LOADERS);
    for _ in 0..LOADERS {
        let (session, _) = Session::connect(reactor, inside).await?;
        opened.push(session.id());
        sessions.push(session);
    }
    load::tables(&mut sessions, dataset, progress).await?;
    bulk::load(&mut sessions[0]).await?;
    parallel::each(&mut sessions, 1..=dataset.tables, async |session, table| {
        sbtest::check(session, table, dataset).await
    })
    .await?;
    bulk::check(&mut sessions[0]).await?;
    for session in sessions {
        session.close().await?;
    }
    Ok(())
}

/// Makes sure that the data set is what [`prepare`] wrote; reads all of it, so that it is in memory.
///
/// # Errors
/// Says what differs.
pub async fn check(session: &mut Session, dataset: &Dataset) -> Result<(), DatasetError> {
    for table in 1..=dataset.tables {
        sbtest::check(session, table, dataset).await?;
    }
    bulk::check(session).await
}

/// Removes the data set if there is one, and tells whether there was.
///
/// # Errors
/// When the schema is not ciphertax's own, or the server refuses.
pub async fn remove(session: &mut Session) -> Result<bool, DatasetError> {
    match mark::find(session).await? {
        mark::Found::Nothing => Ok(false),
        mark::Found::Ours { .. } | mark::Found::Empty => mark::drop_schema(session).await.map(|()| true),
    }
}

/// Makes sure that nobody else has a schema of the name; writes nothing.
///
/// # Errors
/// When the schema is not ciphertax's own, or the server refuses.
pub async fn refuse_foreign(session: &mut Session) -> Result<(), DatasetError> {
    mark::find(session).await.map(drop)
}

/// Makes sure that this account may remove the data set, by removing a table of it that never was; writes nothing.
///
/// # Errors
/// When it may not.
pub async fn refuse_without_drop(session: &mut Session) -> Result<(), DatasetError> {
    match run(
        session,
        &format!("DROP TABLE IF EXISTS {SCHEMA}.never_made_by_ciphertax"),
    )
    .await
    {
        Err(error) if error.is_access_denied() => Err(error.into()),
        // Servers differ in what they say of a table in a schema that is not there.
        Ok(()) | Err(WireError::Server { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ends sessions that load, so that nobody waits for their last statement: the server does not notice that nobody waits for
/// it. Of these numbers only those are ended that are at work in the schema.
///
/// # Errors
/// When the server refuses.
pub async fn end_sessions(session: &mut Session, numbers: &[u32]) -> Result<(), DatasetError> {
    if numbers.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let at_work = format!(
        "SELECT id FROM information_schema.processlist WHERE db = '{SCHEMA}' AND id IN ({})",
        numbers.join(", ")
    );
    for row in session.query(&at_work).await? {
        match run(session, &format!("KILL {}", row.text(0))).await {
            // It has ended meanwhile.
            Ok(()) | Err(WireError::Server { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// How long a data set of this size may take to make, on a slow server.
pub fn patience(dataset: &Dataset) -> Duration {
    Contents::from(*dataset).patience()
}

async fn run(session: &mut Session, sql: &str) -> Result<(), WireError> {
    session.query_raw(sql, |_| Ok(())).await.map(|_| ())
}

/// Makes sure that a question about a table has this answer.
fn expect(table: &str, rows: &[TextRow], expected: &[&str]) -> Result<(), DatasetError> {
    let found: Vec<String> = rows
        .iter()
        .flat_map(|row| (0..expected.len()).map(|column| row.text(column)))
        .collect();
    if found == expected {
        return Ok(());
    }
    Err(DatasetError::Wrong(format!(
        "{table} says {found:?}, expected {expected:?}"
    )))
}
