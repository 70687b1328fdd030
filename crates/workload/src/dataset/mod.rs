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

use ciphertax_engine::Part;
use ciphertax_model::{Dataset, YcsbTable};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;

use crate::sql::SqlRecords;
use crate::sql::session::SqlSession;
use crate::ycsb::{Records, Table};

use sbtest::Chunk;

pub use ciphertax_base::SCHEMA;
pub use contents::Contents;
pub use encryption_proof::{
    CellCanaries, CellsProof, CellsRead, ColumnCanaries, ColumnsRead, remove_columns_proof,
    write_cells_proof, write_columns_proof,
};
pub use mark::DatasetError;
pub(crate) use mark::Result;
pub use sbtest::{BULK_BYTES, BULK_ROWS};

/// Sessions that load side by side.
const LOADERS: usize = 4;

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
) -> Result<()> {
    claim::<S>(reactor, options, contents).await?;
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
) -> Result<()> {
    let mut opener = Opener::<S>::new(reactor, options, opened);
    let mut there = 0;
    if let Some(dataset) = &contents.sbtest {
        let load = async |sessions: &mut [S]| sbtest::load(sessions, dataset, progress).await;
        opener.with_sessions(load).await?;
        there = dataset.rows();
    }
    if let Some(table) = &contents.usertable {
        let load = async |loaders: &mut [SqlRecords<S>]| {
            usertable::load(loaders, table, &mut |records| progress(there + records)).await?;
            Ok(loaders[0].settle().await?)
        };
        opener.with_records(contents, table, load).await?;
        there += u64::from(table.record_count);
    }
    if let Some(tables) = &contents.pgbench {
        let load = async |sessions: &mut [S]| {
            pgbench::load(sessions, tables, &mut |rows| progress(there + rows)).await
        };
        opener.with_sessions(load).await?;
        there += tables.rows();
    }
    if let Some(tables) = &contents.tpcc {
        tpcc::load::load(&mut opener, tables, &mut |rows| progress(there + rows)).await?;
    }
    Ok(())
}

/// Has the tables there, in a schema that is marked, and tells whether they hold nothing that could stay: then several processes may
/// write a part each by [`load_part`], before the first makes the rest as it makes all of it alone, and checks it.
///
/// # Errors
/// As [`prepare_contents`].
pub async fn begin<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &Contents,
) -> Result<bool> {
    claim::<S>(reactor, options, contents).await?;
    let mut opened = Vec::new();
    let mut opener = Opener::<S>::new(reactor, options, &mut opened);
    let mut session = opener.session().await?;
    let mut is_empty = true;
    if let Some(dataset) = &contents.sbtest {
        for table in 1..=dataset.tables {
            sbtest::create(&mut session, table).await?;
            is_empty &= sbtest::is_empty(&mut session, table).await?;
        }
    }
    if contents.pgbench.is_some() {
        is_empty &= pgbench::begin(&mut session).await?;
    }
    if let Some(tables) = &contents.tpcc {
        is_empty &= tpcc::load::begin(&mut opener, tables).await?;
    }
    match &contents.usertable {
        None => drop(session.close().await?),
        Some(table) => {
            let mut loader = SqlRecords::open(session, Table::Usertable, table, None, None).await?;
            loader.create().await?;
            is_empty &= loader.count().await? == 0;
            loader.close().await?;
        }
    }
    Ok(is_empty)
}

/// Writes a part of the rows of tables that are there. `progress` hears how many it has written, each time that it is more.
///
/// # Errors
/// When the server refuses, or somebody wants to stop.
pub async fn load_part<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &Contents,
    part: Part,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut opened = Vec::new();
    let mut opener = Opener::<S>::new(reactor, options, &mut opened);
    let mut written = 0;
    let mut more = |rows| {
        written += rows;
        progress(written);
    };
    if let Some(dataset) = &contents.sbtest {
        let chunks = (1..=dataset.tables).flat_map(|table| Chunk::of(table, dataset));
        let write =
            async |sessions: &mut [S]| sbtest::write(sessions, dataset, part.own(chunks), &mut more).await;
        opener.with_sessions(write).await?;
    }
    if let Some(tables) = &contents.pgbench {
        let write = async |sessions: &mut [S]| pgbench::write_part(sessions, tables, part, &mut more).await;
        opener.with_sessions(write).await?;
    }
    if let Some(tables) = &contents.tpcc {
        tpcc::load::load_part(&mut opener, tables, part, &mut more).await?;
    }
    if let Some(table) = &contents.usertable {
        let write = async |loaders: &mut [SqlRecords<S>]| {
            usertable::write_part(loaders, table, part, &mut |records| progress(written + records)).await
        };
        opener.with_records(contents, table, write).await?;
    }
    Ok(())
}

/// Makes sure that there is a schema of ciphertax's own for this data set; what it holds of it stays.
async fn claim<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &Contents,
) -> Result<()> {
    let (mut session, _) = S::connect_with_settings(reactor, &S::within(options, None)).await?;
    mark::claim(&mut session, contents).await?;
    session.close().await?;
    Ok(())
}

/// Opens sessions in ciphertax's schema, and keeps their numbers.
struct Opener<'a, S: SqlSession> {
    reactor: &'a Rc<Reactor>,
    inside: S::Options,
    opened: &'a mut Vec<u32>,
}

impl<'a, S: SqlSession> Opener<'a, S> {
    fn new(reactor: &'a Rc<Reactor>, options: &S::Options, opened: &'a mut Vec<u32>) -> Self {
        Self {
            reactor,
            inside: S::within(options, Some(&SCHEMA)),
            opened,
        }
    }

    async fn session(&mut self) -> Result<S, WireError> {
        let (session, _) = S::connect_with_settings(self.reactor, &self.inside).await?;
        self.opened.push(session.id());
        Ok(session)
    }

    /// One that may load lines.
    async fn loading_session(&mut self) -> Result<S, WireError> {
        let (session, _) = S::connect_with_settings(self.reactor, &S::that_loads(&self.inside)).await?;
        self.opened.push(session.id());
        Ok(session)
    }

    /// Over several sessions, which are closed afterwards.
    async fn with_sessions(&mut self, work: impl AsyncFnOnce(&mut [S]) -> Result<()>) -> Result<()> {
        let mut sessions = Vec::with_capacity(LOADERS);
        for _ in 0..LOADERS {
            sessions.push(self.session().await?);
        }
        work(&mut sessions).await?;
        for session in sessions {
            session.close().await?;
        }
        Ok(())
    }

    /// The same over those of YCSB's table.
    async fn with_records(
        &mut self,
        contents: &Contents,
        table: &YcsbTable,
        work: impl AsyncFnOnce(&mut [SqlRecords<S>]) -> Result<()>,
    ) -> Result<()> {
        let mut loaders = Vec::with_capacity(table.load_threads as usize);
        for _ in 0..table.load_threads {
            let session = self.session().await?;
            let (columns, fields) = (contents.columns, contents.fields.as_ref());
            loaders.push(SqlRecords::open(session, Table::Usertable, table, columns, fields).await?);
        }
        work(&mut loaders).await?;
        close_table_loaders(loaders).await
    }
}

/// Those of YCSB's table, on any server.
pub(crate) async fn close_table_loaders(loaders: Vec<impl Records>) -> Result<()> {
    for loader in loaders {
        loader.close().await?;
    }
    Ok(())
}

/// Makes sure that the data set is what [`prepare_contents`] wrote; reads all of it, so that it is in memory.
///
/// # Errors
/// Says what differs.
pub async fn check(session: &mut impl SqlSession, dataset: &Dataset) -> Result<()> {
    for table in 1..=dataset.tables {
        sbtest::check(session, table, dataset).await?;
    }
    sbtest::check_bulk(session).await
}

/// Removes the data set if there is one, and tells whether there was.
///
/// # Errors
/// When the schema is not ciphertax's own, or the server refuses.
pub async fn remove(session: &mut impl SqlSession) -> Result<bool> {
    match mark::find(session, &[]).await? {
        mark::Found::Nothing => Ok(false),
        mark::Found::Ours { dataset } => mark::drop_schema(session, &dataset).await.map(|_| true),
        mark::Found::Empty => mark::drop_schema(session, "").await,
    }
}

/// Removes the data set if it is another than this, and tells whether there was one.
///
/// # Errors
/// As [`remove`].
pub async fn remove_other(session: &mut impl SqlSession, contents: &Contents) -> Result<bool> {
    match mark::find(session, &[]).await? {
        mark::Found::Ours { dataset } if dataset != mark::marked(contents) => {
            mark::drop_schema(session, &dataset).await.map(|_| true)
        }
        mark::Found::Ours { .. } | mark::Found::Empty | mark::Found::Nothing => Ok(false),
    }
}

/// Makes sure that nobody else has a schema of the name, or in one that was given a table that the data set would have; writes nothing.
///
/// # Errors
/// When there is one, or the server refuses.
pub async fn refuse_foreign(session: &mut impl SqlSession, contents: &Contents) -> Result<()> {
    mark::find(session, &contents.names()).await.map(drop)
}
