//! YCSB's table on MongoDB, as YCSB's binding for it has it (`site.ycsb.db.MongoDbClient`, release 0.17): the key as
//! `_id`, the fields as binary values.

use std::ops::Range;
use std::rc::Rc;

use ciphertax_engine::{Failure, Result, Slot};
use ciphertax_model::YcsbTable;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::raw::{CString, RawArrayBuf, RawDocument, cstr};
use ciphertax_wire::mongodb::bson::{self, rawdoc};
use ciphertax_wire::mongodb::{Request, Session};
use ciphertax_wire::{Session as _, WireError};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::DATABASE;
use super::access::MongodbAccess;
use super::documents::{
    check_fields, check_one, field_names, key_of, number, record_size, write_command, write_field,
    write_find_one, write_read_mode, write_record,
};
use crate::connect::Task;
use crate::driver::{Access as _, failure};
use crate::ycsb::fields::{FieldEncryption, Fields};
use crate::ycsb::records::{Scan, Value, all_inserted, is_there, pieces, written_once};
use crate::ycsb::{Key, KeyValue, Records, Table, Work};

/// A message ends with the record that makes it this long, in bytes: a third of what every server takes.
const LONG_MESSAGE: usize = 16 << 20;

/// What a server says of a collection that is there already, or is not there (MongoDB's error_codes.yml).
const NAMESPACE_EXISTS: i32 = 48;
const NAMESPACE_NOT_FOUND: i32 = 26;

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
    type Records = MongodbRecords;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<MongodbRecords> {
        let (session, writer) = match self.writes {
            true => self.access.open_to_read_and_write(reactor, slot.index).await?,
            false => (self.access.open(reactor, slot.index).await?, None),
        };
        let mut records = MongodbRecords::open(session, Table::Usertable, &self.table, self.fields.as_ref())?;
        records.writer = writer;
        records.reader.read_mode = self.access.read_mode();
        Ok(records)
    }

    async fn open_loader(&self, reactor: &Rc<Reactor>, table: Table) -> Result<MongodbRecords> {
        let session = self.access.open_to_write(reactor).await?;
        MongodbRecords::open(session, table, &self.table, self.fields.as_ref())
    }
}

/// A session with what reads its records, whose buffer serves all commands.
pub struct MongodbRecords {
    session: Session,
    /// To the primary, if that is another member than is read from.
    writer: Option<Session>,
    reader: MongodbReader,
    /// Bytes of a record without its key.
    record_size: usize,
}

/// Reads records over any session.
pub struct MongodbReader {
    table: Table,
    request: Request,
    names: Vec<CString>,
    fields: Fields,
    /// What to tell a server that is not the primary.
    read_mode: Option<&'static str>,
}

impl MongodbReader {
    /// Of plain records.
    pub(crate) fn new(shape: &YcsbTable, read_mode: Option<&'static str>) -> Self {
        Self {
            table: Table::Usertable,
            request: Request::new(),
            names: field_names(shape),
            fields: Fields::plain(shape, Table::Usertable),
            read_mode,
        }
    }

    /// False if there is no such record.
    pub(crate) async fn read(&mut self, session: &mut Session, key: &Key) -> Result<bool> {
        write_find_one(&mut self.request, self.table, key, self.read_mode);
        let reply = session.run(&mut self.request).await.map_err(failure)?;
        check_one(reply, &self.names, key, &mut self.fields, Fields::check)
    }

    /// Runs the command in the buffer, and tells how many records it wrote.
    async fn write(&mut self, session: &mut Session) -> Result<u64> {
        let reply = session.run(&mut self.request).await;
        reply.and_then(|reply| reply.n()).map_err(failure)
    }
}

impl MongodbRecords {
    /// Reads and writes over this session, whose database is ciphertax's own.
    pub(crate) fn open(
        session: Session,
        table: Table,
        shape: &YcsbTable,
        encryption: Option<&FieldEncryption>,
    ) -> Result<Self> {
        let reader = MongodbReader {
            table,
            fields: Fields::open(shape, table, encryption)?,
            ..MongodbReader::new(shape, None)
        };
        Ok(Self {
            session,
            writer: None,
            record_size: record_size(&reader.names, &reader.fields),
            reader,
        })
    }

    fn writing(&mut self) -> (&mut Session, &mut MongodbReader) {
        (
            self.writer.as_mut().unwrap_or(&mut self.session),
            &mut self.reader,
        )
    }

    /// The first document that an aggregation over the table gives, if any.
    async fn aggregate(&mut self, pipeline: RawArrayBuf) -> Result<Option<bson::RawDocumentBuf>> {
        let command = rawdoc! {
            "aggregate": self.reader.table.name(), "pipeline": pipeline, "cursor": {}, "$db": &*DATABASE,
        };
        let mut request = Request::of(&command);
        let reply = self.session.run(&mut request).await.map_err(failure)?;
        let first = reply.batch().map_err(failure)?.next();
        Ok(first.transpose().map_err(failure)?.map(RawDocument::to_owned))
    }
}

impl Records for MongodbRecords {
    async fn read(&mut self, key: &Key) -> Result<bool> {
        self.reader.read(&mut self.session, key).await
    }

    async fn update(&mut self, key: &Key, field: u16, values: &mut Pcg64Mcg) -> Result<()> {
        let (session, reader) = self.writing();
        let mut made = Ok(());
        write_command(&mut reader.request, cstr!("update"), reader.table, |_| {});
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
        written_once(key, "updated", reader.write(session).await?)
    }

    async fn insert(&mut self, key: &Key) -> Result<()> {
        let (session, reader) = self.writing();
        let mut made = Ok(());
        write_command(&mut reader.request, cstr!("insert"), reader.table, |_| {});
        reader.request.sequence(cstr!("documents"), |documents| {
            documents
                .document(|document| made = write_record(document, key, &reader.names, &mut reader.fields));
        });
        made?;
        written_once(key, "inserted", reader.write(session).await?)
    }

    async fn scan(&mut self, first: &Key, count: u32) -> Result<bool> {
        // At most 100.
        let limit = count as i32;
        let reader = &mut self.reader;
        write_command(&mut reader.request, cstr!("find"), reader.table, |find| {
            find.document(cstr!("filter"), |filter| {
                filter.document(cstr!("_id"), |id| id.string(cstr!("$gte"), first.as_str()));
            });
            find.document(cstr!("sort"), |sort| sort.int32(cstr!("_id"), 1));
            find.int32(cstr!("limit"), limit);
            find.int32(cstr!("batchSize"), limit);
            write_read_mode(find, reader.read_mode);
        });
        let reply = self.session.run(&mut reader.request).await.map_err(failure)?;
        let mut scan = Scan::from(first);
        for document in reply.batch().map_err(failure)? {
            let document = document.map_err(failure)?;
            let key = key_of(document, None)?;
            check_fields(document, &reader.names, key, reader.fields.check(key))?;
            scan.record(key)?;
        }
        scan.end(count)
    }

    /// Of a replica set another member than the primary has the writes later.
    fn lags(&self) -> bool {
        self.writer.is_some()
    }

    async fn create(&mut self) -> Result<()> {
        let command = rawdoc! { "create": self.reader.table.name(), "$db": &*DATABASE };
        match self.session.command(&command).await {
            Err(WireError::Command { code, .. }) if code == NAMESPACE_EXISTS => Ok(()),
            created => created.map(drop).map_err(failure),
        }
    }

    async fn empty(&mut self) -> Result<()> {
        let dropped = drop_collection(&mut self.session, self.reader.table.name()).await;
        dropped.map_err(failure)?;
        self.create().await
    }

    /// By looking at all, since the number that the server keeps may be off after it was killed.
    async fn count(&mut self) -> Result<u64> {
        let mut pipeline = RawArrayBuf::new();
        pipeline.push(rawdoc! { "$group": { "_id": null, "n": { "$sum": 1_i64 } } });
        match self.aggregate(pipeline).await? {
            Some(counted) => number(&counted, "n"),
            None => Ok(0),
        }
    }

    async fn count_of(&mut self, numbers: Range<u64>) -> Result<u64> {
        let mut count = 0;
        for few in pieces(numbers) {
            let mut keys = RawArrayBuf::new();
            for number in few {
                keys.push(Key::of(number).as_str());
            }
            let command = rawdoc! {
                "count": self.reader.table.name(), "query": { "_id": { "$in": keys } }, "$db": &*DATABASE,
            };
            let counted = self.session.command(&command).await.map_err(failure)?;
            count += number(&counted, "n")?;
        }
        Ok(count)
    }

    async fn insert_many(&mut self, numbers: Range<u64>) -> Result<u64> {
        let a_message = (LONG_MESSAGE / self.record_size).max(1);
        let (session, reader) = self.writing();
        let mut requests = 0;
        let end = numbers.end;
        for first in numbers.step_by(a_message) {
            let few = first..end.min(first + a_message as u64);
            let mut made = Ok(());
            write_command(&mut reader.request, cstr!("insert"), reader.table, |_| {});
            reader.request.sequence(cstr!("documents"), |documents| {
                for number in few.clone() {
                    documents.document(|document| {
                        let written =
                            write_record(document, &Key::of(number), &reader.names, &mut reader.fields);
                        made = std::mem::replace(&mut made, Ok(())).and(written);
                    });
                }
            });
            made?;
            all_inserted(reader.write(session).await?, few.end - few.start)?;
            requests += 1;
        }
        Ok(requests)
    }

    async fn delete_many(&mut self, numbers: Range<u64>) -> Result<u64> {
        let (session, reader) = self.writing();
        let mut deleted = 0;
        for few in pieces(numbers) {
            write_command(&mut reader.request, cstr!("delete"), reader.table, |_| {});
            reader.request.sequence(cstr!("deletes"), |deletes| {
                for number in few {
                    deletes.document(|delete| {
                        delete.document(cstr!("q"), |filter| {
                            filter.string(cstr!("_id"), Key::of(number).as_str());
                        });
                        delete.int32(cstr!("limit"), 1);
                    });
                }
            });
            deleted += reader.write(session).await?;
        }
        Ok(deleted)
    }

    /// By the size of each document less that of its key (`$bsonSize`, MongoDB 4.4).
    async fn look_at_all(&mut self) -> Result<u64> {
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
            let table = self.reader.table.name();
            return Err(Failure::Error(format!(
                "records of {table} have from {least} to {most} bytes besides their keys; expected {expected}"
            )));
        }
        number(&found, "n")
    }

    async fn verify(&mut self, number: u64) -> Result<()> {
        let key = Key::of(number);
        let reader = &mut self.reader;
        write_find_one(&mut reader.request, reader.table, &key, None);
        let reply = self.session.run(&mut reader.request).await.map_err(failure)?;
        let is_found = check_one(reply, &reader.names, &key, &mut reader.fields, Fields::check_all)?;
        is_there(&key, is_found)
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

    async fn close(self) -> Result<()> {
        self.session.close().await.map(drop).map_err(failure)
    }
}

/// What a short connection is made for: one record of YCSB's table, by its key, picked uniformly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindRecord(pub YcsbTable);

impl Task<MongodbAccess> for FindRecord {
    type State = MongodbReader;

    fn state(&self, access: &MongodbAccess) -> MongodbReader {
        MongodbReader::new(&self.0, access.read_mode())
    }

    async fn run(
        &self,
        reader: &mut MongodbReader,
        random: &mut Pcg64Mcg,
        session: &mut Session,
    ) -> Result<u64> {
        let key = Key::of(random.random_range(0..self.0.record_count).into());
        is_there(&key, reader.read(session, &key).await?)?;
        Ok(1)
    }
}

/// Drops a collection if it is there, as the primary alone can: a write concern that holds there may wait for members for ever.
pub(super) async fn drop_collection(session: &mut Session, name: &str) -> Result<(), WireError> {
    let by_primary = rawdoc! { "drop": name, "writeConcern": { "w": 1_i32 }, "$db": &*DATABASE };
    match session.command(&by_primary).await {
        Err(WireError::Command { code, .. }) if code == NAMESPACE_NOT_FOUND => Ok(()),
        dropped => dropped.map(drop),
    }
}
