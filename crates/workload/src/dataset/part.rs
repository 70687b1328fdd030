//! A data set that several processes load together: one has the tables there, each writes its part of the rows, and then the first makes
//! the rest as it makes all of it alone, and checks it.

use std::rc::Rc;

use ciphertax_engine::Part;
use ciphertax_reactor::Reactor;

use super::contents::Contents;
use super::error::DatasetError;
use super::schema::SCHEMA;
use super::{
    close_loaders, close_table_loaders, load, mark, open_loaders, open_table_loaders, pgbench, sbtest, tpcc,
    usertable,
};
use crate::sql::SqlLoader;
use crate::sql::session::DataSession;
use crate::ycsb::key_value::{Loader, Table};

/// Has the tables there, in a schema that is marked, and tells whether they hold nothing that could stay.
///
/// # Errors
/// As [`prepare_contents`](super::prepare_contents).
pub async fn begin<S: DataSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &Contents,
) -> Result<bool, DatasetError> {
    let (mut session, _) = S::connect(reactor, &S::within(options, None)).await?;
    mark::claim(&mut session, contents).await?;
    session.close().await?;
    let (mut session, _) = S::connect(reactor, &S::within(options, Some(SCHEMA))).await?;
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
        is_empty &= tpcc::load::begin::<S>(reactor, &S::within(options, Some(SCHEMA)), tables).await?;
    }
    match &contents.usertable {
        None => drop(session.close().await?),
        Some(table) => {
            let loader = SqlLoader::open(session, Table::Usertable, table, None, None);
            let mut loader = loader.await?;
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
pub async fn load_part<S: DataSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &Contents,
    part: Part,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let inside = S::within(options, Some(SCHEMA));
    let mut written = 0;
    let mut more = |rows| {
        written += rows;
        progress(written);
    };
    if let Some(dataset) = &contents.sbtest {
        let mut sessions = open_loaders::<S>(reactor, &inside, &mut Vec::new()).await?;
        load::write_part(&mut sessions, dataset, part, &mut more).await?;
        close_loaders(sessions).await?;
    }
    if let Some(tables) = &contents.pgbench {
        let mut sessions = open_loaders::<S>(reactor, &inside, &mut Vec::new()).await?;
        pgbench::write_part(&mut sessions, tables, part, &mut more).await?;
        close_loaders(sessions).await?;
    }
    if let Some(tables) = &contents.tpcc {
        tpcc::load::load_part::<S>(reactor, &inside, tables, part, &mut more).await?;
    }
    if let Some(table) = &contents.usertable {
        let mut loaders = open_table_loaders::<S>(reactor, &inside, contents, table, &mut Vec::new()).await?;
        usertable::write_part(&mut loaders, table, part, &mut |records| {
            progress(written + records)
        })
        .await?;
        close_table_loaders(loaders).await?;
    }
    Ok(())
}
