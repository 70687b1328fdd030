//! Loading the sets, several sessions side by side.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::rc::Rc;

use ciphertax_engine::Part;
use ciphertax_reactor::{Reactor, stop};

use super::config::{self, Config};
use super::contents::{TpccContents, analyze, create, create_index, drop_table};
use super::population::Population;
use super::state::{self, GROWN, Marks, growth, relations};
use super::table::{Chunk, Table};
use super::writer::{Cells, Form, Writer};
use crate::dataset::mark::{is_right, run};
use crate::dataset::{DatasetError, Opener, Result, parallel};
use crate::sql::rows::statement;
use crate::sql::{Loading, Query, SqlSession};

/// Lines travel so many bytes at a time, about.
const LINES_BLOCK: usize = 512 << 10;
/// Rows of a statement have so many bytes, about: every server takes as many unless somebody has it take less than by default.
const STATEMENT_BLOCK: usize = 128 << 10;
/// How often a chunk is begun anew that the server gave up for the sake of another session.
const ATTEMPTS: u32 = 5;

/// A session that loads, with what makes the cells of each set.
struct Loader<S> {
    session: S,
    cells: Vec<Option<Cells>>,
    /// Rows in the making.
    block: Vec<u8>,
    /// Whether the server takes lines, as far as is known.
    takes_lines: bool,
}

/// A chunk of the set with this index.
type Job = (usize, Chunk);

/// Makes the tables unless they are there and right, over sessions within the schema. `opened` gets their numbers. `progress` hears
/// the rows that are there, ten lines for each order, each time that it is more.
pub(in crate::dataset) async fn load<S: SqlSession>(
    opener: &mut Opener<'_, S>,
    contents: &TpccContents,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut loaders = open(opener, contents).await?;
    let config = config::ensure_config(&mut loaders[0].session).await?;
    let marks = state::marks(&mut loaders[0].session).await?;
    if marks.is_empty() {
        make_anew(&mut loaders, contents, &config, progress).await?;
        return close(loaders).await;
    }
    let (missing, are_right) = match found(&mut loaders, contents, &marks).await? {
        Found::Right => (Vec::new(), true),
        Found::Unfinished => (repair(&mut loaders, contents, marks).await?, false),
        Found::Worn => (start_anew(&mut loaders, contents).await?, false),
    };
    write_all(&mut loaders, contents, &config, missing, progress).await?;
    if !are_right && !holds(&mut loaders, contents).await? {
        // What was there was wrong in a way that its size does not show.
        make_anew(&mut loaders, contents, &config, progress).await?;
    }
    close(loaders).await
}

/// Has the tables there, and tells whether none of them has a row: then several processes may write a part each by [`load_part`], before
/// [`load`] makes the rest.
pub(in crate::dataset) async fn begin<S: SqlSession>(
    opener: &mut Opener<'_, S>,
    contents: &TpccContents,
) -> Result<bool> {
    let mut loaders = open(opener, contents).await?;
    config::ensure_config(&mut loaders[0].session).await?;
    let is_new = state::marks(&mut loaders[0].session).await?.is_empty();
    if is_new {
        start_anew(&mut loaders, contents).await?;
    }
    close(loaders).await?;
    Ok(is_new)
}

/// Writes a part of the rows of tables that are there. `written` hears of each chunk how many they are.
pub(in crate::dataset) async fn load_part<S: SqlSession>(
    opener: &mut Opener<'_, S>,
    contents: &TpccContents,
    part: Part,
    written: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut loaders = open(opener, contents).await?;
    let config = config::read_config(&mut loaders[0].session).await?;
    // Dealt out by size: the tables of every warehouse come in the same order, and one part would have all that are large.
    let mut all: Vec<Job> = jobs(contents).collect();
    all.sort_by_key(|(_, chunk)| Reverse(heard_rows(*chunk)));
    write(
        &mut loaders,
        contents,
        &config,
        part.own(all.into_iter()),
        written,
    )
    .await?;
    close(loaders).await
}

/// Makes all sets anew, over sessions of its own, as they were before anything was asked.
///
/// `opened` gets the numbers of the sessions, which a server may still work for when this was given up. `progress` hears the rows that
/// are there, each time that it is more.
///
/// # Errors
/// When the server refuses, or somebody wants to stop: what is there then is made whole by the next load.
pub async fn restore<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &TpccContents,
    opened: &mut Vec<u32>,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut opener = Opener::<S>::new(reactor, options, opened);
    let mut loaders = open(&mut opener, contents).await?;
    let config = config::ensure_config(&mut loaders[0].session).await?;
    state::marks(&mut loaders[0].session).await?;
    make_anew(&mut loaders, contents, &config, progress).await?;
    close(loaders).await
}

async fn make_anew<S: SqlSession>(
    loaders: &mut [Loader<S>],
    contents: &TpccContents,
    config: &Config,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let all = start_anew(loaders, contents).await?;
    write_all(loaders, contents, config, all, progress).await?;
    check(loaders, contents).await
}

async fn open<S: SqlSession>(opener: &mut Opener<'_, S>, contents: &TpccContents) -> Result<Vec<Loader<S>>> {
    let mut loaders = Vec::new();
    for _ in 0..contents.tables.load_workers.max(1) {
        let cells = contents.cells().collect::<Result<_, _>>()?;
        loaders.push(Loader {
            session: opener.loading_session().await?,
            cells,
            block: Vec::new(),
            takes_lines: true,
        });
    }
    Ok(loaders)
}

async fn close<S: SqlSession>(loaders: Vec<Loader<S>>) -> Result<()> {
    for loader in loaders {
        loader.session.close().await?;
    }
    Ok(())
}

/// What is there of tables that somebody began to make.
enum Found {
    /// All of it, and all relations hold.
    Right,
    /// Some, or it is not what its marks say; nobody has worked on it.
    Unfinished,
    /// A run has worked on it, and it is damaged since or has grown too large.
    Worn,
}

async fn found<S: SqlSession>(
    loaders: &mut [Loader<S>],
    contents: &TpccContents,
    marks: &Marks,
) -> Result<Found> {
    create_all(loaders, contents).await?;
    let mut is_used = false;
    for set in &contents.sets {
        let session = &mut loaders[0].session;
        is_used |= !state::is_unused(session, set).await?;
    }
    let if_not_right = match is_used {
        true => Found::Worn,
        false => Found::Unfinished,
    };
    if !jobs(contents).all(|(set, chunk)| marks.contains(&state::key(&contents.sets[set], chunk))) {
        return Ok(if_not_right);
    }
    if is_used {
        for set in &contents.sets {
            if growth(&mut loaders[0].session, set.names).await? >= GROWN {
                return Ok(Found::Worn);
            }
        }
    }
    match holds(loaders, contents).await? {
        true => Ok(Found::Right),
        false => Ok(if_not_right),
    }
}

/// Empties the tables that are not what their marks say, and tells what is missing then.
async fn repair<S: SqlSession>(
    loaders: &mut [Loader<S>],
    contents: &TpccContents,
    marks: Marks,
) -> Result<Vec<Job>> {
    let marks = RefCell::new(marks);
    parallel::each(loaders, tables(contents), async |loader, (set, table)| {
        let (session, set) = (&mut loader.session, &contents.sets[set]);
        let before = marks.borrow().clone();
        if state::is_as_marked(session, contents, set, table, &before).await? {
            return Ok(());
        }
        state::forget(session, set, table).await?;
        let name = set.names.of(table.name());
        run(session, &format!("{}{name}", S::DIALECT.empty)).await?;
        let name = name.to_string();
        marks.borrow_mut().retain(|(marked, _)| *marked != name);
        Ok(())
    })
    .await?;
    let marks = marks.into_inner();
    let is_missing = |(set, chunk): &Job| !marks.contains(&state::key(&contents.sets[*set], *chunk));
    Ok(jobs(contents).filter(is_missing).collect())
}

/// Makes all tables anew, without rows.
async fn start_anew<S: SqlSession>(loaders: &mut [Loader<S>], contents: &TpccContents) -> Result<Vec<Job>> {
    parallel::each(loaders, tables(contents), async |loader, (set, table)| {
        let (session, set) = (&mut loader.session, &contents.sets[set]);
        state::forget(session, set, table).await?;
        drop_table(session, set, table).await?;
        create(session, set, table).await
    })
    .await?;
    Ok(jobs(contents).collect())
}

async fn write<S: SqlSession>(
    loaders: &mut [Loader<S>],
    contents: &TpccContents,
    config: &Config,
    jobs: impl IntoIterator<Item = Job>,
    written: &mut dyn FnMut(u64),
) -> Result<()> {
    let write = async |loader: &mut Loader<S>, (set, chunk)| {
        write_chunk(loader, contents, set, chunk, config).await?;
        Ok(heard_rows(chunk))
    };
    parallel::each_counted(loaders, jobs, write, written).await
}

async fn create_all<S: SqlSession>(loaders: &mut [Loader<S>], contents: &TpccContents) -> Result<()> {
    parallel::each(loaders, tables(contents), async |loader, (set, table)| {
        create(&mut loader.session, &contents.sets[set], table).await
    })
    .await
}

/// Loads what is missing, and has every table indexed and counted.
async fn write_all<S: SqlSession>(
    loaders: &mut [Loader<S>],
    contents: &TpccContents,
    config: &Config,
    missing: Vec<Job>,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let absent: u64 = missing.iter().map(|(_, chunk)| heard_rows(*chunk)).sum();
    let mut there = contents.rows() - absent;
    if there > 0 {
        progress(there);
    }
    write(loaders, contents, config, missing, &mut |rows| {
        there += rows;
        progress(there);
    })
    .await?;
    parallel::each(loaders, tables(contents), async |loader, (set, table)| {
        let (session, set) = (&mut loader.session, &contents.sets[set]);
        create_index(session, set, table).await?;
        analyze(session, set, table).await
    })
    .await
}

/// Makes sure of all relations, so that every session has its answer when one does not hold, and can be asked more.
async fn check<S: SqlSession>(loaders: &mut [Loader<S>], contents: &TpccContents) -> Result<()> {
    let warehouses = contents.tables.warehouses;
    let relations = contents.sets.iter().flat_map(|set| relations(set, warehouses));
    let wrong = RefCell::new(None);
    parallel::each(loaders, relations, async |loader, relation| {
        match relation.check(&mut loader.session).await {
            Err(DatasetError::Wrong(what)) => {
                wrong.borrow_mut().get_or_insert(what);
                Ok(())
            }
            outcome => outcome,
        }
    })
    .await?;
    wrong
        .into_inner()
        .map_or(Ok(()), |what| Err(DatasetError::Wrong(what)))
}

async fn holds<S: SqlSession>(loaders: &mut [Loader<S>], contents: &TpccContents) -> Result<bool> {
    is_right(check(loaders, contents).await)
}

/// Writes a chunk and its mark in one transaction, again where the server gave it up for the sake of another session, or takes no
/// lines.
async fn write_chunk<S: SqlSession>(
    loader: &mut Loader<S>,
    contents: &TpccContents,
    set: usize,
    chunk: Chunk,
    config: &Config,
) -> Result<()> {
    let mut attempt = 1;
    loop {
        match write_once(loader, contents, set, chunk, config).await {
            Err(DatasetError::Wire(error)) if loader.takes_lines && error.is_lines_refused() => {
                loader.takes_lines = false;
            }
            Err(DatasetError::Wire(error)) if error.is_to_be_restarted() && attempt < ATTEMPTS => {
                attempt += 1;
            }
            outcome => return outcome,
        }
        run(&mut loader.session, "ROLLBACK").await?;
    }
}

/// A session that was cut off a moment ago may still be at the same chunk: its mark is waited for then, and found.
async fn write_once<S: SqlSession>(
    loader: &mut Loader<S>,
    contents: &TpccContents,
    index: usize,
    chunk: Chunk,
    config: &Config,
) -> Result<()> {
    let set = &contents.sets[index];
    run(&mut loader.session, S::DIALECT.begin_to_write).await?;
    match run(&mut loader.session, &state::mark(set, chunk)).await {
        Err(error) if error.is_duplicate() => {
            return Ok(run(&mut loader.session, "ROLLBACK").await?);
        }
        marked => marked?,
    }
    // Without its columns' names a table would want values for the key that some servers want.
    let columns: Vec<&str> = chunk.table.columns().map(|column| column.column).collect();
    let table = format!("{} ({})", set.names.of(chunk.table.name()), columns.join(", "));
    let mut statement = Query::new(&statement(Loading::Insert, &table));
    let mut cells = loader.cells[index].as_mut();
    if let Some(cells) = &mut cells {
        cells.begin(chunk.table);
    }
    let (form, bytes) = match loader.takes_lines {
        true => (Form::Lines(S::DIALECT.bytes_in_lines), LINES_BLOCK),
        false => (Form::Values(S::DIALECT.around_bytes), STATEMENT_BLOCK),
    };
    let mut population = Population::new(chunk, config.c_load);
    let mut are_left = true;
    while are_left {
        if stop::is_requested() {
            return Err(DatasetError::Stopped);
        }
        loader.block.clear();
        let mut writer = Writer::new(&mut loader.block, form, cells.as_deref_mut(), &config.loaded_at);
        are_left = population.write(&mut writer, bytes);
        let written = writer.finish()?;
        let session = &mut loader.session;
        let taken = match loader.takes_lines {
            true => session.load_lines(&table, [&loader.block[..]]).await?,
            false => insert(session, &mut statement, &loader.block).await?,
        };
        if taken != u64::from(written) {
            return Err(DatasetError::Wrong(format!(
                "of {written} rows {table} took {taken}"
            )));
        }
    }
    Ok(run(&mut loader.session, S::DIALECT.end).await?)
}

/// Inserts rows by a statement, of which these are the values.
async fn insert<S: SqlSession>(session: &mut S, statement: &mut Query, values: &[u8]) -> Result<u64> {
    let empty = statement.length();
    statement.push(values);
    let taken = session.load(statement).await?;
    statement.truncate(empty);
    Ok(taken)
}

/// All chunks of all sets: those of a warehouse in all sets before those of the next.
fn jobs(contents: &TpccContents) -> impl Iterator<Item = Job> {
    let sets = contents.sets.len();
    Chunk::of(contents.tables.warehouses).flat_map(move |chunk| (0..sets).map(move |set| (set, chunk)))
}

fn tables(contents: &TpccContents) -> impl Iterator<Item = (usize, Table)> {
    let sets = contents.sets.len();
    (0..sets).flat_map(|set| Table::ALL.into_iter().map(move |table| (set, table)))
}

/// Rows of a chunk as they are counted before they are there.
fn heard_rows(chunk: Chunk) -> u64 {
    let lines = if chunk.table == Table::OrderLine { 10 } else { 1 };
    u64::from(chunk.table.units()) * lines
}
