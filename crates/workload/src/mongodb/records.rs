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
use ciphertax_wire::{Traffic, WireError};
use rand_pcg::Pcg64Mcg;

use super::access::MongodbAccess;
use crate::client::{Client, failure};
use crate::dataset::schema::SCHEMA;
use crate::ycsb::records::{Layout, Value, at_most_one, changed, in_order, is_there};
use crate::ycsb::{Connection, Key, KeyValue, Loader, Table};

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
}

impl KeyValue for MongodbTable {
    type Connection = MongodbConnection;
    type Loader = MongodbLoader;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<MongodbConnection, Failure> {
        let (session, writer) = match self.writes {
            true => self.access.open_to_read_and_write(reactor, slot.index).await?,
            false => (self.access.open(reactor, slot.index).await?, None),
        };
        Ok(MongodbConnection {
            session,
            writer,
            reader: MongodbReader::new(&self.table, self.access.read_mode()),
        })
    }

    async fn open_loader(&self, reactor: &Rc<Reactor>, table: Table) -> Result<MongodbLoader, Failure> {
        let session = self.access.open_to_write(reactor).await?;
        Ok(MongodbLoader::new(session, table, &self.table))
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
    fields: Vec<CString>,
    layout: Layout,
    /// What to tell a server that is not the primary.
    read_mode: Option<&'static str>,
}

impl MongodbReader {
    pub(crate) fn new(table: &YcsbTable, read_mode: Option<&'static str>) -> Self {
        Self {
            request: Request::new(),
            fields: field_names(table),
            layout: Layout::of(table),
            read_mode,
        }
    }

    /// False if there is no such record.
    pub(crate) async fn read(&mut self, session: &mut Session, key: &Key) -> Result<bool, Failure> {
        let Self {
            request,
            fields,
            layout,
            read_mode,
        } = self;
        write_find_one(request, Table::Usertable, key, *read_mode);
        let reply = session.run(request).await.map_err(failure)?;
        check_one(*layout, fields, reply, key)
    }
}

impl Connection for MongodbConnection {
    async fn read(&mut self, key: &Key) -> Result<bool, Failure> {
        self.reader.read(&mut self.session, key).await
    }

    async fn update(&mut self, key: &Key, field: u16, values: &mut Pcg64Mcg) -> Result<(), Failure> {
        let (session, reader) = self.writing();
        let MongodbReader {
            request,
            fields,
            layout,
            ..
        } = reader;
        write_command(request, cstr!("update"), Table::Usertable, |_| {});
        request.sequence(cstr!("updates"), |updates| {
            updates.document(|update| {
                update.document(cstr!("q"), |filter| filter.string(cstr!("_id"), key.as_str()));
                update.document(cstr!("u"), |change| {
                    change.document(cstr!("$set"), |set| {
                        let value = set.blank_binary(&fields[usize::from(field)], layout.field_length);
                        Value::another(key, field, values).write(value);
                    });
                });
            });
        });
        written_once(session, request, key, "updated").await
    }

    async fn insert(&mut self, key: &Key) -> Result<(), Failure> {
        let (session, reader) = self.writing();
        let MongodbReader {
            request,
            fields,
            layout,
            ..
        } = reader;
        write_command(request, cstr!("insert"), Table::Usertable, |_| {});
        request.sequence(cstr!("documents"), |documents| {
            documents.document(|document| write_record(document, key, fields, *layout));
        });
        written_once(session, request, key, "inserted").await
    }

    async fn scan(&mut self, first: &Key, count: u32) -> Result<bool, Failure> {
        let Self { session, reader, .. } = self;
        let MongodbReader {
            request,
            fields,
            layout,
            read_mode,
        } = reader;
        // At most 100.
        let limit = count as i32;
        write_command(request, cstr!("find"), Table::Usertable, |find| {
            find.document(cstr!("filter"), |filter| {
                filter.document(cstr!("_id"), |id| id.string(cstr!("$gte"), first.as_str()));
            });
            find.document(cstr!("sort"), |sort| sort.int32(cstr!("_id"), 1));
            find.int32(cstr!("limit"), limit);
            find.int32(cstr!("batchSize"), limit);
            write_read_mode(find, *read_mode);
        });
        let reply = session.run(request).await.map_err(failure)?;
        let mut last: Option<Key> = None;
        let mut has_first = false;
        let mut records = 0;
        for document in reply.batch().map_err(failure)? {
            let key = check_document(*layout, fields, document.map_err(failure)?, None)?;
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

    fn traffic(&self) -> Traffic {
        let read = self.session.traffic();
        let written = self.writer.as_ref().map(Session::traffic).unwrap_or_default();
        Traffic {
            sent: read.sent + written.sent,
            received: read.received + written.received,
            ..read
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
    fields: Vec<CString>,
    layout: Layout,
    /// Bytes of a record without its key.
    record_size: usize,
}

impl MongodbLoader {
    /// Writes over this session, whose database is ciphertax's own.
    pub(crate) fn new(session: Session, table: Table, shape: &YcsbTable) -> Self {
        let fields = field_names(shape);
        let layout = Layout::of(shape);
        let mut one = Request::new();
        let empty = one.size();
        let key = Key::of(0);
        one.command(|document| write_record(document, &key, &fields, layout));
        // An empty document has five bytes.
        let record_size = one.size() - empty + 5 - key.as_bytes().len();
        Self {
            session,
            table,
            request: one,
            fields,
            layout,
            record_size,
        }
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
            let Self {
                session,
                table,
                request,
                fields,
                layout,
                ..
            } = self;
            write_command(request, cstr!("insert"), *table, |_| {});
            request.sequence(cstr!("documents"), |documents| {
                for number in few.clone() {
                    documents.document(|document| write_record(document, &Key::of(number), fields, *layout));
                }
            });
            let inserted = session
                .run(request)
                .await
                .and_then(|reply| reply.n())
                .map_err(failure)?;
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
        is_there(
            &key,
            check_one(self.layout.verified(), &self.fields, reply, &key)?,
        )
    }

    fn traffic(&self) -> Traffic {
        self.session.traffic()
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

fn write_record(document: &mut DocumentWriter<'_>, key: &Key, fields: &[CString], layout: Layout) {
    document.string(cstr!("_id"), key.as_str());
    for (number, name) in (0..).zip(fields) {
        Value::inserted(key, number).write(document.blank_binary(name, layout.field_length));
    }
}

/// Makes sure that what was found is one record, and is right; false if nothing was found.
fn check_one(layout: Layout, fields: &[CString], reply: Reply<'_>, key: &Key) -> Result<bool, Failure> {
    let mut records = 0;
    for document in reply.batch().map_err(failure)? {
        check_document(layout, fields, document.map_err(failure)?, Some(key))?;
        records += 1;
    }
    at_most_one(key, records)
}

/// Checks a record, that of `expected` if it is known which, and returns its key.
fn check_document(
    layout: Layout,
    fields: &[CString],
    document: &RawDocument,
    expected: Option<&Key>,
) -> Result<Key, Failure> {
    let broken = |error| Failure::Error(format!("a record that cannot be read: {error}"));
    let mut elements = document.iter_elements();
    let id = elements.next().transpose().map_err(broken)?;
    let id = match id.map(|id| id.value()).transpose().map_err(broken)? {
        Some(RawBsonRef::String(id)) => id,
        _ => "",
    };
    let key = match expected {
        Some(expected) if expected.as_str() == id => *expected,
        Some(expected) => return Err(changed(expected, format_args!("was asked for, and {id:?} came"))),
        None => Key::parse(id.as_bytes())
            .ok_or_else(|| Failure::Error(format!("{id:?} is no key of YCSB's: was the table changed?")))?,
    };
    let mut check = layout.check(key);
    for element in elements {
        let element = element.map_err(broken)?;
        let field = usize::from(check.next_field());
        let name = element.key();
        if fields.get(field).is_some_and(|expected| &**expected != name) {
            let name = name.as_str();
            return Err(changed(
                &key,
                format_args!("has {name:?} in the place of field{field}"),
            ));
        }
        match element.value().map_err(broken)? {
            RawBsonRef::Binary(value) if value.subtype == BinarySubtype::Generic => {
                check.field(value.bytes)?
            }
            _ => {
                return Err(changed(
                    &key,
                    format_args!("has a field{field} that is not binary"),
                ));
            }
        }
    }
    check.end()?;
    Ok(key)
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
