//! Loading side by side: by several sessions, and by several processes.
//!
//! Of several processes one has the tables there, each writes its part of the rows, and then the first makes the rest
//! as it makes all of it alone, and checks it.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use ciphertax_engine::Part;
use ciphertax_model::Dataset;
use ciphertax_reactor::{Reactor, stop};

use super::contents::Contents;
use super::mark::{self, DatasetError, SCHEMA};
use super::sbtest::{self, Chunk};
use super::{close_loaders, close_table_loaders, open_loaders, open_table_loaders, pgbench, tpcc, usertable};
use crate::sql::SqlLoader;
use crate::sql::session::SqlSession;
use crate::ycsb::key_value::{Loader, Table};

type Worker<'a> = Pin<Box<dyn Future<Output = Result<(), DatasetError>> + 'a>>;

/// Deals `jobs` out to `sessions`, each of which takes the next when it is done with one. The first error ends it.
/// Where somebody wants to stop, those that were begun are ended and no other is.
///
/// # Errors
/// Those of the work, and [`DatasetError::Stopped`].
pub(super) async fn each<S, J>(
    sessions: &mut [S],
    jobs: impl IntoIterator<Item = J>,
    work: impl AsyncFn(&mut S, J) -> Result<(), DatasetError>,
) -> Result<(), DatasetError> {
    let jobs = RefCell::new(jobs.into_iter());
    let next = || match stop::is_requested() {
        true => None,
        false => jobs.borrow_mut().next(),
    };
    let work_on = async |session: &mut S| {
        while let Some(job) = next() {
            work(session, job).await?;
        }
        Ok(())
    };
    let worker = |session| Box::pin(work_on(session)) as Worker<'_>;
    all(sessions.iter_mut().map(worker).collect()).await?;
    match stop::is_requested() {
        true => Err(DatasetError::Stopped),
        false => Ok(()),
    }
}

/// The same for work that says how much it has done; `counted` hears that each time.
///
/// # Errors
/// As [`each`].
pub(super) async fn each_counted<S, J>(
    sessions: &mut [S],
    jobs: impl IntoIterator<Item = J>,
    work: impl AsyncFn(&mut S, J) -> Result<u64, DatasetError>,
    counted: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let counted = RefCell::new(counted);
    each(sessions, jobs, async |session, job| {
        let count = work(session, job).await?;
        counted.borrow_mut()(count);
        Ok(())
    })
    .await
}

/// Drives futures side by side: whenever one of their sockets wakes the task, each is polled.
async fn all(mut futures: Vec<Worker<'_>>) -> Result<(), DatasetError> {
    poll_fn(|context| {
        let mut outcome = Ok(());
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(done) => {
                outcome = std::mem::replace(&mut outcome, Ok(())).and(done);
                false
            }
        });
        if outcome.is_err() || futures.is_empty() {
            Poll::Ready(outcome)
        } else {
            Poll::Pending
        }
    })
    .await
}

/// Makes of the tables what is not there. `progress` hears the rows that are there, each time that it is more.
pub(super) async fn tables<S: SqlSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let missing: RefCell<Vec<Chunk>> = RefCell::default();
    each(sessions, 1..=dataset.tables, async |session, table| {
        sbtest::create(session, table).await?;
        let of_table = sbtest::missing(session, table, dataset).await?;
        missing.borrow_mut().extend(of_table);
        Ok(())
    })
    .await?;

    let missing = missing.into_inner();
    let absent: u64 = missing.iter().map(|chunk| u64::from(chunk.rows())).sum();
    let mut there = dataset.rows() - absent;
    if there > 0 {
        progress(there);
    }
    write(sessions, dataset, missing, &mut |rows| {
        there += rows;
        progress(there);
    })
    .await?;

    each(sessions, 1..=dataset.tables, async |session, table| {
        sbtest::create_index(session, table).await?;
        sbtest::settle(session, table, dataset).await
    })
    .await
}

/// Writes a part of the rows of tables that are there. `written` hears of each chunk how many they are.
pub(super) async fn write_part<S: SqlSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    part: Part,
    written: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let chunks = (1..=dataset.tables).flat_map(|table| Chunk::of(table, dataset));
    write(sessions, dataset, part.own(chunks), written).await
}

async fn write<S: SqlSession>(
    sessions: &mut [S],
    dataset: &Dataset,
    chunks: impl IntoIterator<Item = Chunk>,
    written: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let write = async |session: &mut S, chunk| {
        sbtest::write(session, chunk, dataset).await?;
        Ok(chunk.rows().into())
    };
    each_counted(sessions, chunks, write, written).await
}

/// Has the tables there, in a schema that is marked, and tells whether they hold nothing that could stay.
///
/// # Errors
/// As [`prepare_contents`](super::prepare_contents).
pub async fn begin<S: SqlSession>(
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
pub async fn load_part<S: SqlSession>(
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
        write_part(&mut sessions, dataset, part, &mut more).await?;
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
