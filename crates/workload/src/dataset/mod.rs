//! The data set over SQL: a schema of ciphertax's own, marked, made, checked and removed; no other is touched.

mod contents;
mod encryption_proof;
pub(crate) mod mark;
pub(crate) mod parallel;
mod pgbench;
pub(crate) mod sbtest;
pub mod tpcc;
pub(crate) mod usertable;

use std::rc::Rc;

use ciphertax_model::{Dataset, YcsbTable};
use ciphertax_reactor::Reactor;

use crate::sql::SqlLoader;
use crate::sql::session::SqlSession;
use crate::ycsb::key_value::{Loader, Table};

pub use contents::Contents;
pub use encryption_proof::{
    CellCanaries, CellsProof, CellsRead, ColumnCanaries, ColumnsRead, remove_columns_proof,
    write_cells_proof, write_columns_proof,
};
pub use mark::{DatasetError, SCHEMA};
pub use parallel::{begin, load_part};
pub use sbtest::{BULK_BYTES, BULK_ROWS};

/// Sessions that load side by side.
const LOADERS: usize = 4;

/// Makes the tables of the `oltp` and bulk workloads; as [`prepare_contents`] with these alone.
///
/// # Errors
/// As [`prepare_contents`].
pub async fn prepare<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    dataset: &Dataset,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let contents = Contents::from(*dataset);
    prepare_contents::<S>(reactor, options, &contents, &mut Vec::new(), progress).await
}

/// Makes the data set over sessions of its own, in a schema that is marked. What an interrupted run left of the same
/// data set is kept where it is right. `opened` gets the numbers of the sessions, which a server may still work for when
/// this was given up. `progress` hears the rows that are there, those of all tables, each time that it is more.
///
/// # Errors
/// When the schema is not ciphertax's own, the server refuses, or somebody wants to stop.
pub async fn prepare_contents<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &Contents,
    opened: &mut Vec<u32>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let (mut session, _) = S::connect(reactor, &S::within(options, None)).await?;
    mark::claim(&mut session, contents).await?;
    session.close().await?;
    make_contents::<S>(reactor, options, contents, opened, progress).await
}

/// The same where the schema is there and nobody else's.
///
/// # Errors
/// When the server refuses, or somebody wants to stop.
pub async fn make_contents<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &Contents,
    opened: &mut Vec<u32>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let inside = S::within(options, Some(SCHEMA));
    let mut there = 0;
    if let Some(dataset) = &contents.sbtest {
        prepare_sbtest::<S>(reactor, &inside, dataset, opened, progress).await?;
        there = dataset.rows();
    }
    if let Some(table) = &contents.usertable {
        let mut loaders = open_table_loaders::<S>(reactor, &inside, contents, table, opened).await?;
        usertable::load(&mut loaders, table, &mut |records| progress(there + records)).await?;
        loaders[0].settle().await?;
        there += u64::from(table.record_count);
        close_table_loaders(loaders).await?;
    }
    if let Some(tables) = &contents.pgbench {
        let mut sessions = open_loaders::<S>(reactor, &inside, opened).await?;
        pgbench::load(&mut sessions, tables, &mut |rows| progress(there + rows)).await?;
        close_loaders(sessions).await?;
        there += tables.rows();
    }
    if let Some(tables) = &contents.tpcc {
        tpcc::load::load::<S>(reactor, &inside, tables, opened, &mut |rows| {
            progress(there + rows)
        })
        .await?;
    }
    Ok(())
}

async fn open_loaders<S: SqlSession>(
    reactor: &Rc<Reactor>,
    inside: &S::Options,
    opened: &mut Vec<u32>,
) -> Result<Vec<S>, DatasetError> {
    let mut sessions = Vec::with_capacity(LOADERS);
    for _ in 0..LOADERS {
        let (session, _) = S::connect(reactor, inside).await?;
        opened.push(session.id());
        sessions.push(session);
    }
    Ok(sessions)
}

async fn close_loaders<S: SqlSession>(sessions: Vec<S>) -> Result<(), DatasetError> {
    for session in sessions {
        session.close().await?;
    }
    Ok(())
}

/// Loaders of YCSB's table.
async fn open_table_loaders<S: SqlSession>(
    reactor: &Rc<Reactor>,
    inside: &S::Options,
    contents: &Contents,
    table: &YcsbTable,
    opened: &mut Vec<u32>,
) -> Result<Vec<SqlLoader<S>>, DatasetError> {
    let mut loaders = Vec::with_capacity(table.load_threads as usize);
    for _ in 0..table.load_threads {
        let (session, _) = S::connect(reactor, inside).await?;
        opened.push(session.id());
        let (columns, fields) = (contents.columns, contents.fields.as_ref());
        loaders.push(SqlLoader::open(session, Table::Usertable, table, columns, fields).await?);
    }
    Ok(loaders)
}

/// Those of YCSB's table, on any server.
pub(crate) async fn close_table_loaders(loaders: Vec<impl Loader>) -> Result<(), DatasetError> {
    for loader in loaders {
        loader.close().await?;
    }
    Ok(())
}

async fn prepare_sbtest<S: SqlSession>(
    reactor: &Rc<Reactor>,
    inside: &S::Options,
    dataset: &Dataset,
    opened: &mut Vec<u32>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let mut sessions = open_loaders::<S>(reactor, inside, opened).await?;
    parallel::tables(&mut sessions, dataset, progress).await?;
    sbtest::load_bulk(&mut sessions[0]).await?;
    parallel::each(&mut sessions, 1..=dataset.tables, async |session, table| {
        sbtest::check(session, table, dataset).await
    })
    .await?;
    sbtest::check_bulk(&mut sessions[0]).await?;
    close_loaders(sessions).await
}

/// Makes sure that the data set is what [`prepare`] wrote; reads all of it, so that it is in memory.
///
/// # Errors
/// Says what differs.
pub async fn check(session: &mut impl SqlSession, dataset: &Dataset) -> Result<(), DatasetError> {
    for table in 1..=dataset.tables {
        sbtest::check(session, table, dataset).await?;
    }
    sbtest::check_bulk(session).await
}

/// Removes the data set if there is one, and tells whether there was.
///
/// # Errors
/// When the schema is not ciphertax's own, or the server refuses.
pub async fn remove(session: &mut impl SqlSession) -> Result<bool, DatasetError> {
    match mark::find(session).await? {
        mark::Found::Nothing => Ok(false),
        mark::Found::Ours { .. } => mark::drop_schema(session).await.map(|_| true),
        mark::Found::Empty => mark::drop_schema(session).await,
    }
}

/// Removes the data set if it is another than this, and tells whether there was one.
///
/// # Errors
/// As [`remove`].
pub async fn remove_other(session: &mut impl SqlSession, contents: &Contents) -> Result<bool, DatasetError> {
    match mark::find(session).await? {
        mark::Found::Ours { dataset } if dataset != contents.description() => {
            mark::drop_schema(session).await.map(|_| true)
        }
        mark::Found::Ours { .. } | mark::Found::Empty | mark::Found::Nothing => Ok(false),
    }
}

/// Makes sure that nobody else has a schema of the name; writes nothing.
///
/// # Errors
/// When the schema is not ciphertax's own, or the server refuses.
pub async fn refuse_foreign(session: &mut impl SqlSession) -> Result<(), DatasetError> {
    mark::find(session).await.map(drop)
}
