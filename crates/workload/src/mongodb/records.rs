//! YCSB's table on MongoDB, as YCSB's binding for it has it (`site.ycsb.db.MongoDbClient`, release 0.17): the key as
//! `_id`, the fields as binary values.

use std::ops::Range;
use std::rc::Rc;

use ciphertax_engine::{Failure, Slot};
use ciphertax_model::YcsbTable;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::raw::{CStr, CString, RawArrayBuf, RawBsonRef, RawDocument, cstr};
use ciphertax_wire::mongodb::bson::spec::BinarySubtype;
use ciphertax_wire::mongodb::bson::{self, rawdoc};
use ciphertax_wire::mongodb::{DocumentWriter, Reply, Request, Session};
use ciphertax_wire::{Session as _, WireError};
use rand_pcg::Pcg64Mcg;

use super::access::MongodbAccess;
use crate::dataset::mark::SCHEMA;
use crate::driver::{Access as _, failure};
use crate::ycsb::fields::{FieldEncryption, Fields, FieldsCheck};
use crate::ycsb::records::{Value, at_most_one, changed, in_order, is_there};
use crate::ycsb::{Connection, Key, KeyValue, Loader, Table, Work};

/// The only database that is ever touched.
pub const DATABASE: &str = SCHEMA;

/// A message ends with the record that makes it this long, in bytes: a third of what every server takes.
const LONG_MESSAGE: usize = 16 << 20;
/// Keys that one command names.
const KEYS_AT_A_TIME: usize = 1000;

/// YCSB's table as an arm reaches it.
pub struct MongodbTable {
    /// How the arm reaches its server.
    pub access: MongodbAccess,
    /// What the records are.
    pub table: YcsbTable,
    /// Whether its connections write too.
    pub writes: bool,
    /// Which fields the client encrypts; `None` for plain ones.
    pub fields: Option<FieldEncryption>,
}

impl KeyValue for MongodbTable {
    type Connection = MongodbConnection;
    type Loader = MongodbLoader;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<MongodbConnection, Failure> {
        let (session, writer) = match self.writes {
            true => self.access.open_to_read_and_write(reactor, slot.index).await?,
            false => (self.access.open(reactor, slot.index).await?, None),
        };
        let fields = Fields::open(&self.table, Table::Usertable, self.fields.as_ref())?;
        Ok(MongodbConnection {
            session,
            writer,
            reader: MongodbReader::with_fields(&self.table, fields, self.access.read_mode()),
        })
    }

    async fn open_loader(&self, reactor: &Rc<Reactor>, table: Table) -> Result<MongodbLoader, Failure> {
        let session = self.access.open_to_write(reactor).await?;
        MongodbLoader::open(session, table, &self.table, self.fields.as_ref())
    }
}

/// A session with what reads its records, whose buffer serves all commands.
pub struct MongodbConnection {
    session: Session,
    /// To the primary, if that is another member than is read from.
    writer: Option<Session>,
    reader: MongodbReader,
}

/// Reads records over any session.
pub struct MongodbReader {
    request: Request,
    names: Vec<CString>,
    fields: Fields,
    /// What to tell a server that is not the primary.
    read_mode: Option<&'static str>,
}

impl MongodbReader {
    /// Of plain records.
    pub(crate) fn new(table: &YcsbTable, read_mode: Option<&'static str>) -> Self {
        Self::with_fields(table, Fields::plain(table, Table::Usertable), read_mode)
    }

    fn with_fields(table: &YcsbTable, fields: Fields, read_mode: Option<&'static str>) -> Self {
        Self {
            request: Request::new(),
            names: field_names(table),
            fields,
            read_mode,
        }
    }

    /// False if there is no such record.
    pub(crate) async fn read(&mut self, session: &mut Session, key: &Key) -> Result<bool, Failure> {
        write_find_one(&mut self.request, Table::Usertable, key, self.read_mode);
        let reply = session.run(&mut self.request).await.map_err(failure)?;
        check_one(reply, &self.names, key, || self.fields.check(*key))
    }
}

impl Connection for MongodbConnection {
    async fn read(&mut self, key: &Key) -> Result<bool, Failure> {
        self.reader.read(&mut self.session, key).await
    }

    async fn update(&mut self, key: &Key, field: u16, values: &mut Pcg64Mcg) -> Result<(), Failure> {
        let (session, reader) = self.writing();
        let mut made = Ok(());
        write_command(&mut reader.request, cstr!("update"), Table::Usertable, |_| {});
        reader.request.sequence(cstr!("updates"), |updates| {
            updates.document(|update| {
                update.document(cstr!("q"), |filter| filter.string(cstr!("_id"), key.as_str()));
                update.document(cstr!("u"), |change| {
                    change.document(cstr!("$set"), |set| {
                        let value = Value::another(key, field, values);
                        let name = &reader.names[usize::from(field)];
                        made = write_field(set, name, field, value, &mut reader.fields);
                    });
                });
            });
        });
        made?;
        written_once(session, &mut reader.request, key, "updated").await
    }

    async fn insert(&mut self, key: &Key) -> Result<(), Failure> {
        let (session, reader) = self.writing();
        let mut made = Ok(());
        write_command(&mut reader.request, cstr!("insert"), Table::Usertable, |_| {});
        reader.request.sequence(cstr!("documents"), |documents| {
            documents
                .document(|document| made = write_record(document, key, &reader.names, &mut reader.fields));
        });
        made?;
        written_once(session, &mut reader.request, key, "inserted").await
    }

    async fn scan(&mut self, first: &Key, count: u32) -> Result<bool, Failure> {
        // At most 100.
        let limit = count as i32;
        let reader = &mut self.reader;
        write_command(&mut reader.request, cstr!("find"), Table::Usertable, |find| {
            find.document(cstr!("filter"), |filter| {
                filter.document(cstr!("_id"), |id| id.string(cstr!("$gte"), first.as_str()));
            });
            find.document(cstr!("sort"), |sort| sort.int32(cstr!("_id"), 1));
            find.int32(cstr!("limit"), limit);
            find.int32(cstr!("batchSize"), limit);
            write_read_mode(find, reader.read_mode);
        });
        let reply = self.session.run(&mut reader.request).await.map_err(failure)?;
        let mut last: Option<Key> = None;
        let mut has_first = false;
        let mut records = 0;
        for document in reply.batch().map_err(failure)? {
            let document = document.map_err(failure)?;
            let key = key_of(document, None)?;
            check_fields(document, &reader.names, key, reader.fields.check(key))?;
            has_first |= key == *first;
            let before = last.replace(key);
            in_order(before.as_ref(), &key)?;
            records += 1;
        }
        match records {
            records if records > count => Err(changed(
                first,
                format_args!("begins a scan of {records} records; asked for {count}"),
            )),
            _ => Ok(has_first),
        }
    }

    /// Of a replica set another member than the primary has the writes later.
    fn lags(&self) -> bool {
        self.writer.is_some()
    }

    fn work(&self) -> Work {
        let mut traffic = self.session.traffic();
        let written = self.writer.as_ref().map(Session::traffic).unwrap_or_default();
        traffic.sent += written.sent;
        traffic.received += written.received;
        Work {
            traffic,
            cells: self.reader.fields.counts(),
        }
    }
}

impl MongodbConnection {
    fn writing(&mut self) -> (&mut Session, &mut MongodbReader) {
        (
            self.writer.as_mut().unwrap_or(&mut self.session),
            &mut self.reader,
        )
    }
}

/// A session that writes and looks at many records at a time.
pub struct MongodbLoader {
    session: Session,
    table: Table,
    request: Request,
    names: Vec<CString>,
    fields: Fields,
    /// Bytes of a record without its key.
    record_size: usize,
}

impl MongodbLoader {
    /// Writes over this session, whose database is ciphertax's own.
    ///
    /// # Errors
    /// When the client cannot encrypt so.
    pub(crate) fn open(
        session: Session,
        table: Table,
        shape: &YcsbTable,
        encryption: Option<&FieldEncryption>,
    ) -> Result<Self, Failure> {
        let names = field_names(shape);
        let mut fields = Fields::open(shape, table, encryption)?;
        let mut one = Request::new();
        let empty = one.size();
        let key = Key::of(0);
        let mut made = Ok(());
        one.command(|document| made = write_record(document, &key, &names, &mut fields));
        made?;
        // An empty document has five bytes.
        let record_size = one.size() - empty + 5 - key.as_bytes().len();
        Ok(Self {
            session,
            table,
            request: one,
            names,
            fields,
            record_size,
        })
    }

    async fn command(&mut self, command: &RawDocument) -> Result<bson::RawDocumentBuf, Failure> {
        self.session.command(command).await.map_err(failure)
    }

    /// The first document that an aggregation over the table gives, if any.
    async fn aggregate(&mut self, pipeline: RawArrayBuf) -> Result<Option<bson::RawDocumentBuf>, Failure> {
        let command = rawdoc! {
            "aggregate": self.table.name(), "pipeline": pipeline, "cursor": {}, "$db": DATABASE,
        };
        let mut request = Request::of(&command);
        let reply = self.session.run(&mut request).await.map_err(failure)?;
        let first = reply
            .batch()
            .map_err(failure)?
            .next()
            .transpose()
            .map_err(failure)?;
        Ok(first.map(RawDocument::to_owned))
    }
}

impl Loader for MongodbLoader {
    async fn create(&mut self) -> Result<(), Failure> {
        const NAMESPACE_EXISTS: i32 = 48;
        let command = rawdoc! { "create": self.table.name(), "$db": DATABASE };
        match self.session.command(&command).await {
            Err(WireError::Command {
                code: NAMESPACE_EXISTS,
                ..
            }) => Ok(()),
            created => created.map(|_| ()).map_err(failure),
        }
    }

    async fn empty(&mut self) -> Result<(), Failure> {
        const NAMESPACE_NOT_FOUND: i32 = 26;
        let command = rawdoc! { "drop": self.table.name(), "$db": DATABASE };
        match self.session.command(&command).await {
            Err(WireError::Command {
                code: NAMESPACE_NOT_FOUND,
                ..
            })
            | Ok(_) => self.create().await,
            Err(error) => Err(failure(error)),
        }
    }

    /// By looking at all, since the number that the server keeps may be off after it was killed.
    async fn count(&mut self) -> Result<u64, Failure> {
        let mut pipeline = RawArrayBuf::new();
        pipeline.push(rawdoc! { "$group": { "_id": null, "n": { "$sum": 1_i64 } } });
        match self.aggregate(pipeline).await? {
            Some(counted) => number(&counted, "n"),
            None => Ok(0),
        }
    }

    async fn count_of(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
        let mut count = 0;
        for few in pieces(numbers) {
            let mut keys = RawArrayBuf::new();
            for number in few {
                keys.push(Key::of(number).as_str());
            }
            let command = rawdoc! {
                "count": self.table.name(), "query": { "_id": { "$in": keys } }, "$db": DATABASE,
            };
            count += number(&self.command(&command).await?, "n")?;
        }
        Ok(count)
    }

    async fn insert_many(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
        let a_message = (LONG_MESSAGE / self.record_size).max(1);
        let mut requests = 0;
        let end = numbers.end;
        for first in numbers.step_by(a_message) {
            let few = first..end.min(first + a_message as u64);
            let mut made = Ok(());
            write_command(&mut self.request, cstr!("insert"), self.table, |_| {});
            self.request.sequence(cstr!("documents"), |documents| {
                for number in few.clone() {
                    documents.document(|document| {
                        let written = write_record(document, &Key::of(number), &self.names, &mut self.fields);
                        made = std::mem::replace(&mut made, Ok(())).and(written);
                    });
                }
            });
            made?;
            let reply = self.session.run(&mut self.request).await;
            let inserted = reply.and_then(|reply| reply.n()).map_err(failure)?;
            requests += 1;
            let records = few.end - few.start;
            if inserted != records {
                return Err(Failure::Error(format!(
                    "{inserted} of {records} records were inserted"
                )));
            }
        }
        Ok(requests)
    }

    async fn delete_many(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
        let mut deleted = 0;
        for few in pieces(numbers) {
            write_command(&mut self.request, cstr!("delete"), self.table, |_| {});
            self.request.sequence(cstr!("deletes"), |deletes| {
                for number in few {
                    deletes.document(|delete| {
                        delete.document(cstr!("q"), |filter| {
                            filter.string(cstr!("_id"), Key::of(number).as_str());
                        });
                        delete.int32(cstr!("limit"), 1);
                    });
                }
            });
            let reply = self.session.run(&mut self.request).await;
            deleted += reply.and_then(|reply| reply.n()).map_err(failure)?;
        }
        Ok(deleted)
    }

    /// By the size of each document less that of its key (`$bsonSize`, MongoDB 4.4).
    async fn look_at_all(&mut self) -> Result<u64, Failure> {
        let size = rawdoc! { "$subtract": [{ "$bsonSize": "$$ROOT" }, { "$strLenBytes": "$_id" }] };
        let mut pipeline = RawArrayBuf::new();
        pipeline.push(rawdoc! { "$group": {
            "_id": null, "n": { "$sum": 1_i64 }, "least": { "$min": size.clone() }, "most": { "$max": size },
        } });
        let Some(found) = self.aggregate(pipeline).await? else {
            return Ok(0);
        };
        let (least, most) = (number(&found, "least")?, number(&found, "most")?);
        let expected = self.record_size as u64;
        if (least, most) != (expected, expected) {
            let table = self.table.name();
            return Err(Failure::Error(format!(
                "records of {table} have from {least} to {most} bytes besides their keys; expected {expected}"
            )));
        }
        number(&found, "n")
    }

    async fn verify(&mut self, number: u64) -> Result<(), Failure> {
        let key = Key::of(number);
        write_find_one(&mut self.request, self.table, &key, None);
        let reply = self.session.run(&mut self.request).await.map_err(failure)?;
        let is_found = check_one(reply, &self.names, &key, || self.fields.check_all(key))?;
        is_there(&key, is_found)
    }

    fn work(&self) -> Work {
        Work {
            traffic: self.session.traffic(),
            cells: self.fields.counts(),
        }
    }

    async fn close(self) -> Result<(), Failure> {
        self.session.close().await.map(|_| ()).map_err(failure)
    }
}

/// Writes a command on a table anew.
fn write_command(
    request: &mut Request,
    name: &CStr,
    table: Table,
    more: impl FnOnce(&mut DocumentWriter<'_>),
) {
    request.command(|command| {
        command.string(name, table.name());
        more(command);
        command.string(cstr!("$db"), DATABASE);
    });
}

/// Writes the command that finds a record by its key.
fn write_find_one(request: &mut Request, table: Table, key: &Key, read_mode: Option<&'static str>) {
    write_command(request, cstr!("find"), table, |find| {
        find.document(cstr!("filter"), |filter| {
            filter.string(cstr!("_id"), key.as_str())
        });
        find.int32(cstr!("limit"), 1);
        find.boolean(cstr!("singleBatch"), true);
        write_read_mode(find, read_mode);
    });
}

fn write_read_mode(find: &mut DocumentWriter<'_>, read_mode: Option<&'static str>) {
    if let Some(mode) = read_mode {
        find.document(cstr!("$readPreference"), |preference| {
            preference.string(cstr!("mode"), mode);
        });
    }
}

fn write_record(
    document: &mut DocumentWriter<'_>,
    key: &Key,
    names: &[CString],
    fields: &mut Fields,
) -> Result<(), Failure> {
    document.string(cstr!("_id"), key.as_str());
    for (number, name) in (0..).zip(names) {
        write_field(document, name, number, Value::inserted(key, number), fields)?;
    }
    Ok(())
}

fn write_field(
    document: &mut DocumentWriter<'_>,
    name: &CStr,
    field: u16,
    value: Value,
    fields: &mut Fields,
) -> Result<(), Failure> {
    let length = fields.length(field);
    let blank = match fields.is_cell(field) {
        true => document.blank_encrypted(name, length),
        false => document.blank_binary(name, length),
    };
    fields.write(field, value, blank)
}

/// Makes sure that what was found is one record, and is right; false if nothing was found.
fn check_one<'a>(
    reply: Reply<'_>,
    names: &[CString],
    key: &Key,
    check: impl FnOnce() -> FieldsCheck<'a>,
) -> Result<bool, Failure> {
    let mut check = Some(check);
    let mut records = 0;
    for document in reply.batch().map_err(failure)? {
        let document = document.map_err(failure)?;
        key_of(document, Some(key))?;
        if let Some(check) = check.take() {
            check_fields(document, names, *key, check())?;
        }
        records += 1;
    }
    at_most_one(key, records)
}

/// The key of a record, which is `expected` if it is known which.
fn key_of(document: &RawDocument, expected: Option<&Key>) -> Result<Key, Failure> {
    let id = document.iter_elements().next().transpose().map_err(broken)?;
    let id = match id.map(|id| id.value()).transpose().map_err(broken)? {
        Some(RawBsonRef::String(id)) => id,
        _ => "",
    };
    match expected {
        Some(expected) if expected.as_str() == id => Ok(*expected),
        Some(expected) => Err(changed(expected, format_args!("was asked for, and {id:?} came"))),
        None => Key::parse(id.as_bytes())
            .ok_or_else(|| Failure::Error(format!("{id:?} is no key of YCSB's: was the table changed?"))),
    }
}

/// Checks what follows a record's key.
fn check_fields(
    document: &RawDocument,
    names: &[CString],
    key: Key,
    mut check: FieldsCheck<'_>,
) -> Result<(), Failure> {
    for element in document.iter_elements().skip(1) {
        let element = element.map_err(broken)?;
        let field = usize::from(check.next);
        let name = element.key();
        if names.get(field).is_some_and(|expected| &**expected != name) {
            let name = name.as_str();
            return Err(changed(
                &key,
                format_args!("has {name:?} in the place of field{field}"),
            ));
        }
        let (subtype, expected) = match check.is_next_cell() {
            true => (BinarySubtype::Encrypted, "encrypted"),
            false => (BinarySubtype::Generic, "binary"),
        };
        match element.value().map_err(broken)? {
            RawBsonRef::Binary(value) if value.subtype == subtype => check.field(value.bytes)?,
            _ => {
                return Err(changed(
                    &key,
                    format_args!("has a field{field} that is not {expected}"),
                ));
            }
        }
    }
    check.end()
}

fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("a record that cannot be read: {error}"))
}

fn field_names(table: &YcsbTable) -> Vec<CString> {
    (0..table.field_count)
        .filter_map(|field| CString::try_from(format!("field{field}")).ok())
        .collect()
}

/// A count in an answer, of whichever type the server chose.
fn number(document: &RawDocument, name: &str) -> Result<u64, Failure> {
    let found = document.get(name).ok().flatten();
    let number = match found {
        Some(RawBsonRef::Int32(number)) => Some(number.into()),
        Some(RawBsonRef::Int64(number)) => Some(number),
        Some(RawBsonRef::Double(number)) if number.fract() == 0.0 => Some(number as i64),
        _ => None,
    };
    number
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| Failure::Error(format!("an answer without the number {name}")))
}

/// Runs a command that writes one record.
async fn written_once(
    session: &mut Session,
    request: &mut Request,
    key: &Key,
    how: &str,
) -> Result<(), Failure> {
    let reply = session.run(request).await;
    match reply.and_then(|reply| reply.n()).map_err(failure)? {
        1 => Ok(()),
        records => Err(changed(
            key,
            format_args!("was {how} {records} times; expected once"),
        )),
    }
}

/// The numbers, cut into as many as one command names.
fn pieces(numbers: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = numbers.end;
    numbers
        .step_by(KEYS_AT_A_TIME)
        .map(move |first| first..end.min(first + KEYS_AT_A_TIME as u64))
}
