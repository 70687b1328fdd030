//! The data set on MongoDB: a database of ciphertax's own, marked, which holds YCSB's table; no other is touched.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use ciphertax_engine::Part;
use ciphertax_model::YcsbTable;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::raw::{RawArrayBuf, RawBsonRef, cstr};
use ciphertax_wire::mongodb::bson::{RawDocument, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Session};
use ciphertax_wire::{Session as _, WireError};

use super::DATABASE;
use super::records::{MongodbRecords, drop_collection};
use crate::dataset::{Contents, DatasetError, Result, close_table_loaders, usertable};
use crate::ycsb::{FieldEncryption, Records, Table};

const COLLECTION: &str = "ciphertax_mark";
/// What a proof writes and drops at once; where one was interrupted, it is all that there is.
const PROOFS: &str = "ciphertax_proofs";
const MARK: &str = "this database was made by ciphertax, which removes it after a run";
/// In a database that was given.
const MARK_IN_GIVEN: &str = "collections of ciphertax are here, which removes them after a run";
/// All that is made, the mark first.
const NAMES: [&str; 4] = [COLLECTION, PROOFS, Table::Usertable.name(), Table::Load.name()];

/// How often a database is dropped that comes again, and how long is waited before.
const MOST_DROPS: u32 = 5;
const BETWEEN_DROPS: Duration = Duration::from_millis(200);

/// How long members of a replica set may need for what was loaded, in milliseconds.
const CAUGHT_UP_MS: i64 = 120_000;

/// Makes YCSB's table, with these fields encrypted, over sessions of its own, which `options` open to the primary. What an
/// interrupted run left of the same table is kept where it is right. `progress` hears the records that are there, each time that
/// it is more.
///
/// # Errors
/// When the database is not ciphertax's own, or the server refuses.
pub async fn prepare(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    table: &YcsbTable,
    fields: Option<&FieldEncryption>,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let (mut session, _) = Session::connect(reactor, options).await?;
    claim(&mut session, table, fields).await?;
    session.close().await?;

    let mut loaders = open_loaders(reactor, options, table, fields).await?;
    usertable::load(&mut loaders, table, progress).await?;
    close_table_loaders(loaders).await
}

/// Has the table there, in a database that is marked, and tells whether it holds nothing that could stay: then several processes may
/// write a part each by [`load_part`], before [`prepare`] makes the rest and checks it.
///
/// # Errors
/// As [`prepare`].
pub async fn begin(reactor: &Rc<Reactor>, options: &ConnectOptions, table: &YcsbTable) -> Result<bool> {
    let (mut session, _) = Session::connect(reactor, options).await?;
    claim(&mut session, table, None).await?;
    let mut loader = MongodbRecords::open(session, Table::Usertable, table, None)?;
    loader.create().await?;
    let is_empty = loader.count().await? == 0;
    loader.close().await?;
    Ok(is_empty)
}

/// Writes a part of a table that is there. `progress` hears how many records it has written, each time that it is more.
///
/// # Errors
/// When the server refuses, or somebody wants to stop.
pub async fn load_part(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    table: &YcsbTable,
    part: Part,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut loaders = open_loaders(reactor, options, table, None).await?;
    usertable::write_part(&mut loaders, table, part, progress).await?;
    close_table_loaders(loaders).await
}

async fn open_loaders(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    table: &YcsbTable,
    fields: Option<&FieldEncryption>,
) -> Result<Vec<MongodbRecords>> {
    let mut loaders = Vec::with_capacity(table.load_threads as usize);
    for _ in 0..table.load_threads {
        let (session, _) = Session::connect(reactor, options).await?;
        loaders.push(MongodbRecords::open(session, Table::Usertable, table, fields)?);
    }
    Ok(loaders)
}

/// Makes sure that the table is what [`prepare`] wrote; has the server look at all of it, so that it is in memory.
///
/// # Errors
/// Says what differs.
pub async fn check(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
    table: &YcsbTable,
    fields: Option<&FieldEncryption>,
) -> Result<()> {
    let (session, _) = Session::connect(reactor, options).await?;
    let mut loader = MongodbRecords::open(session, Table::Usertable, table, fields)?;
    usertable::check(&mut loader, table).await?;
    Ok(loader.close().await?)
}

/// Waits until all `members` of a replica set that hold data have all that was written: what a secondary has not yet,
/// it says is not there.
///
/// # Errors
/// When they do not have it in time, or the server refuses.
pub async fn wait_for_members(session: &mut Session, members: usize) -> Result<()> {
    let everybody = rawdoc! { "w": members as i64, "wtimeout": CAUGHT_UP_MS };
    let mut updates = RawArrayBuf::new();
    updates.push(rawdoc! { "q": {}, "u": { "$inc": { "waits": 1_i32 } } });
    let note =
        rawdoc! { "update": COLLECTION, "updates": updates, "writeConcern": everybody, "$db": &*DATABASE };
    session.command(&note).await?;
    Ok(())
}

/// Makes sure that nobody else has a database of the name, or in one that was given a collection that is needed; writes nothing.
///
/// # Errors
/// When there is one, or the server refuses.
pub async fn refuse_foreign(session: &mut Session) -> Result<()> {
    find(session).await.map(drop)
}

/// Removes the data set if there is one, and tells whether there was.
///
/// # Errors
/// When the database is not ciphertax's own, or the server refuses.
pub async fn remove(session: &mut Session) -> Result<bool> {
    match find(session).await? {
        Found::Nothing => return Ok(false),
        Found::Proofs => {
            drop_collection(session, PROOFS).await?;
            return Ok(true);
        }
        Found::Ours { .. } => {}
    }
    for _ in 0..MOST_DROPS {
        drop_database(session).await?;
        // The last batch of a connection that was cut off makes its collection anew.
        let is_ours = |name: &String| name == Table::Usertable.name() || name == Table::Load.name();
        let left = collections(session).await?;
        if left.is_empty() || !left.iter().all(is_ours) {
            break;
        }
        // Nobody else is served by this thread.
        thread::sleep(BETWEEN_DROPS);
    }
    Ok(true)
}

/// Makes sure that this account may remove the database; writes nothing.
///
/// # Errors
/// When it may not.
pub async fn refuse_without_drop(session: &mut Session) -> Result<()> {
    // The right is looked at before the value, of which 1 alone is allowed; and before the collection, which is not there.
    let drop = match DATABASE.is_given() {
        false => rawdoc! { "dropDatabase": 2_i32, "$db": &*DATABASE },
        true => rawdoc! { "drop": "never_made_by_ciphertax", "$db": &*DATABASE },
    };
    match session.command(&drop).await {
        Err(error) if error.is_access_denied() => Err(error.into()),
        Ok(_) | Err(WireError::Command { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What there is of the database's name.
enum Found {
    Nothing,
    /// What an interrupted proof wrote, and nothing else.
    Proofs,
    /// A database of ciphertax's own, for this data set.
    Ours {
        dataset: String,
    },
}

async fn find(session: &mut Session) -> Result<Found> {
    let nothing = RawDocument::from_bytes(b"\x05\0\0\0\0").map_err(unreadable)?;
    let there = collections(session).await?;
    match there.as_slice() {
        [] => return Ok(Found::Nothing),
        [only] if only == PROOFS => return Ok(Found::Proofs),
        [taken, ..] if DATABASE.is_given() && !there.iter().any(|name| name == COLLECTION) => {
            return Err(DatasetError::Taken(taken.clone()));
        }
        _ => {}
    }
    let marks = session.find_all(&DATABASE, COLLECTION, nothing).await?;
    match marks.as_slice() {
        [mark] if mark.get_str("mark").is_ok_and(|mark| mark == mark_text()) => Ok(Found::Ours {
            dataset: mark.get_str("dataset").unwrap_or_default().to_owned(),
        }),
        _ if DATABASE.is_given() => Err(DatasetError::Taken(COLLECTION.to_owned())),
        _ => Err(DatasetError::NotOurs("database")),
    }
}

fn mark_text() -> &'static str {
    match DATABASE.is_given() {
        false => MARK,
        true => MARK_IN_GIVEN,
    }
}

/// The collections of a database of ciphertax's own; in one that was given those alone whose names it needs, which are few enough for
/// one answer.
async fn collections(session: &mut Session) -> Result<Vec<String>> {
    let mut list = rawdoc! { "listCollections": 1_i32, "nameOnly": true, "cursor": {}, "$db": &*DATABASE };
    if DATABASE.is_given() {
        let names: RawArrayBuf = NAMES.into_iter().collect();
        list.append(cstr!("filter"), rawdoc! { "name": { "$in": names } });
    }
    let answer = session.command(&list).await?;
    let batch = answer
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"))
        .map_err(unreadable)?;
    let name = |collection: RawBsonRef<'_>| Some(collection.as_document()?.get_str("name").ok()?.to_owned());
    let names = batch
        .into_iter()
        .map(|collection| Ok(name(collection.map_err(unreadable)?).unwrap_or_default()));
    names.collect()
}

/// Makes sure that there is a database of ciphertax's own for this table; what it holds of it stays.
async fn claim(session: &mut Session, table: &YcsbTable, fields: Option<&FieldEncryption>) -> Result<()> {
    let contents = Contents {
        usertable: Some(*table),
        fields: fields.cloned(),
        ..Contents::NONE
    };
    let description = contents.description();
    match find(session).await? {
        Found::Ours { dataset } if dataset == description => return Ok(()),
        Found::Ours { .. } => drop_database(session).await?,
        Found::Proofs => drop_collection(session, PROOFS).await?,
        Found::Nothing => {}
    }
    let mark = rawdoc! { "mark": mark_text(), "dataset": description };
    let mut documents = RawArrayBuf::new();
    documents.push(mark);
    let insert = rawdoc! { "insert": COLLECTION, "documents": documents, "$db": &*DATABASE };
    session.command(&insert).await?;
    Ok(())
}

/// Drops the collections, the mark last, and a database that was not given: whoever looks meanwhile, or after the server was cut off,
/// sees whose it is. A database that has no more collections waits for no members of a set.
async fn drop_database(session: &mut Session) -> Result<()> {
    for name in NAMES.into_iter().rev() {
        drop_collection(session, name).await?;
    }
    if !DATABASE.is_given() {
        let drop = rawdoc! { "dropDatabase": 1_i32, "writeConcern": { "w": 1_i32 }, "$db": &*DATABASE };
        session.command(&drop).await?;
    }
    Ok(())
}

fn unreadable(error: impl std::fmt::Display) -> WireError {
    WireError::Protocol(format!("a document that cannot be read: {error}"))
}
