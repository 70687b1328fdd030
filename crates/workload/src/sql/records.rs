//! YCSB's table over SQL, with the columns that YCSB's JDBC binding documents
//! (`jdbc/src/main/resources/sql/create_table.sql`, release 0.17).

use std::fmt::Write as _;
use std::ops::Range;
use std::rc::Rc;

use ciphertax_engine::{Failure, Result, Slot};
use ciphertax_model::YcsbTable;
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use rand_pcg::Pcg64Mcg;

use super::Loading;
use super::columns::Columns;
use super::record_rows::{around_value, check_row, field_text, note, number, push_records, record};
use super::rows::{Rows, statement};
use super::session::{Parameter, Query, SqlSession, Statement, Trouble};
use crate::dataset::mark::vacuum;
use crate::driver::{Access, failure};
use crate::ycsb::fields::{FieldEncryption, Fields, FieldsCheck};
use crate::ycsb::records::{
    Scan, Value, all_inserted, at_most_one, is_there, pieces, values_differ, written_once,
};
use crate::ycsb::{Key, KeyValue, Records, Table, Work};

/// YCSB's table as an arm reaches it.
pub struct SqlTable<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What the records are.
    pub table: YcsbTable,
    /// How the server encrypts the fields; `None` for plain ones.
    pub columns: Option<Columns>,
    /// Which fields the client encrypts; `None` for plain ones.
    pub fields: Option<FieldEncryption>,
}

impl<C: Access<Session: SqlSession>> KeyValue for SqlTable<C> {
    type Records = SqlRecords<C::Session>;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Records> {
        let session = self.access.open(reactor, slot.index).await?;
        let (columns, fields) = (self.columns, self.fields.as_ref());
        let mut records = SqlRecords::open(session, Table::Usertable, &self.table, columns, fields).await?;
        records.prepare_read().await?;
        let SqlRecords { session, fields, .. } = &mut records;
        let prepared = Prepared::open(session, Table::Usertable.name(), fields, columns).await;
        records.prepared = Some(prepared.map_err(failure)?);
        Ok(records)
    }

    async fn open_loader(&self, reactor: &Rc<Reactor>, table: Table) -> Result<Self::Records> {
        let session = self.access.open(reactor, 0).await?;
        SqlRecords::open(session, table, &self.table, self.columns, self.fields.as_ref()).await
    }
}

/// A session with its statements.
pub struct SqlRecords<S: SqlSession> {
    session: S,
    table: Table,
    fields: Fields,
    encrypted: Option<Columns>,
    /// A statement about many records.
    query: Query,
    /// What an insert of many begins with.
    insert: String,
    /// Reads a single one; `None` until it is prepared, since the table may not be there yet.
    read: Option<S::Statement>,
    /// The others about single ones, which sessions that load have no use for.
    prepared: Option<Prepared<S>>,
}

/// Statements about single records.
struct Prepared<S: SqlSession> {
    /// One a field.
    updates: Vec<S::Statement>,
    insert: S::Statement,
    scan: S::Statement,
}

impl<S: SqlSession> Prepared<S> {
    async fn open(
        session: &mut S,
        table: &str,
        fields: &Fields,
        encrypted: Option<Columns>,
    ) -> Result<Self, WireError> {
        let field_count = fields.shape.field_count;
        let record = record(field_count, encrypted);
        let [before, after] = around_value(encrypted);
        let field = |number| Parameter::Text(fields.length(number));
        let mut updates = Vec::with_capacity(field_count.into());
        let mut columns = String::new();
        for number in 0..field_count {
            let update = format!("UPDATE {table} SET FIELD{number} = {before}?{after} WHERE YCSB_KEY = ?");
            let parameters = [field(number), Parameter::VariableText];
            updates.push(
                session
                    .prepare(&S::DIALECT.prepared(&update), &parameters)
                    .await?,
            );
            // Writing to a text cannot fail.
            let _ = write!(columns, ", FIELD{number}");
        }
        let blanks = format!(", {before}?{after}").repeat(field_count.into());
        let mut of_insert = vec![Parameter::VariableText];
        of_insert.extend((0..field_count).map(field));
        let [insert, scan] = [
            format!("INSERT INTO {table} (YCSB_KEY{columns}) VALUES (?{blanks})"),
            format!("SELECT {record} FROM {table} WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?"),
        ]
        .map(|sql| S::DIALECT.prepared(&sql));
        Ok(Self {
            updates,
            insert: session.prepare(&insert, &of_insert).await?,
            scan: session
                .prepare(&scan, &[Parameter::VariableText, Parameter::Integer])
                .await?,
        })
    }
}

impl<S: SqlSession> SqlRecords<S> {
    /// Reads and writes over this session, whose schema is ciphertax's own.
    pub(crate) async fn open(
        mut session: S,
        table: Table,
        shape: &YcsbTable,
        encrypted: Option<Columns>,
        fields: Option<&FieldEncryption>,
    ) -> Result<Self> {
        if let Some(encrypted) = encrypted {
            encrypted.begin(&mut session).await.map_err(failure)?;
        }
        Ok(Self {
            session,
            table,
            fields: Fields::open(shape, table, fields)?,
            encrypted,
            query: Query::new(""),
            insert: statement(Loading::Insert, table.name()),
            read: None,
            prepared: None,
        })
    }

    /// Makes ready to read single records, once the table is there.
    async fn prepare_read(&mut self) -> Result<()> {
        if self.read.is_none() {
            let record = record(self.fields.shape.field_count, self.encrypted);
            let sql = format!("SELECT {record} FROM {} WHERE YCSB_KEY = ?", self.table.name());
            let sql = S::DIALECT.prepared(&sql);
            let read = self.session.prepare(&sql, &[Parameter::VariableText]).await;
            self.read = Some(read.map_err(failure)?);
        }
        Ok(())
    }

    /// Reads a record, which is checked so; false if it is not there.
    async fn fetch(
        &mut self,
        key: &Key,
        check: impl for<'a> Fn(&'a mut Fields, Key) -> FieldsCheck<'a>,
    ) -> Result<bool> {
        let read = ready(&mut self.read)?;
        read.set_text(0, key.as_bytes()).map_err(failure)?;
        let mut right = Ok(());
        let fetched = self.session.execute_rows(read, |row| {
            note(
                &mut right,
                check_row::<S>(&mut self.fields, row, Some(key), &check),
            )
        });
        let answer = fetched.await.map_err(failure)?;
        right?;
        at_most_one(key, answer.rows)
    }

    /// Has the server know how large the table is.
    pub(crate) async fn settle(&mut self) -> Result<(), WireError> {
        vacuum(&mut self.session, self.table.name()).await
    }

    async fn run(&mut self, sql: &str) -> Result<()> {
        self.session.command(sql).await.map(drop).map_err(failure)
    }

    /// Runs the statement in the buffer: anew when the server gave up on it for the sake of another session's.
    async fn run_query(&mut self) -> Result<u64> {
        loop {
            match self.session.run(&mut self.query).await {
                Ok(answer) => return Ok(answer.affected_rows),
                Err(error) if error.is_duplicate() => return Err(failure(error)),
                Err(error) => match Trouble::from(error) {
                    Trouble::Restart => {}
                    Trouble::Failed(failure) => return Err(failure),
                },
            }
        }
    }

    /// Inserts the next of these records in one statement, and returns the number of the first that is left.
    async fn insert_some(&mut self, numbers: Range<u64>) -> Result<u64> {
        self.query.truncate(0);
        self.query.push(self.insert.as_bytes());
        let rows = Rows::after(Loading::Insert, &mut self.query);
        let next = push_records::<S>(
            rows,
            &mut self.fields,
            around_value(self.encrypted),
            numbers.clone(),
        )?;
        let inserted = self.run_query().await?;
        all_inserted(inserted, next - numbers.start)?;
        Ok(next)
    }

    /// The same by what loads most at least cost.
    async fn load_some(&mut self, numbers: Range<u64>) -> Result<u64> {
        let mut rows: Query = Query::new(&statement(Loading::Copy, self.table.name()));
        let next = push_records::<S>(
            Rows::after(Loading::Copy, &mut rows),
            &mut self.fields,
            around_value(None),
            numbers.clone(),
        )?;
        let inserted = self.session.load(&mut rows).await.map_err(failure)?;
        all_inserted(inserted, next - numbers.start)?;
        Ok(next)
    }

    /// `… WHERE YCSB_KEY IN (…)`
    fn write_condition(&mut self, numbers: Range<u64>) {
        self.query.push(b" WHERE YCSB_KEY IN (");
        for number in numbers.clone() {
            self.query
                .push(if number == numbers.start { b"'" } else { b",'" });
            self.query.push(Key::of(number).as_bytes());
            self.query.push(b"'");
        }
        self.query.push(b")");
    }
}

/// The statements about single records, which were prepared.
fn ready<T>(prepared: &mut Option<T>) -> Result<&mut T> {
    let unprepared = || Failure::Error("a session that loads was asked for a single record".to_owned());
    prepared.as_mut().ok_or_else(unprepared)
}

impl<S: SqlSession> Records for SqlRecords<S> {
    async fn read(&mut self, key: &Key) -> Result<bool> {
        self.fetch(key, Fields::check).await
    }

    async fn update(&mut self, key: &Key, field: u16, values: &mut Pcg64Mcg) -> Result<()> {
        let update = &mut ready(&mut self.prepared)?.updates[usize::from(field)];
        self.fields
            .write(field, Value::another(key, field, values), update.text_mut(0))?;
        update.set_text(1, key.as_bytes()).map_err(failure)?;
        let answer = self.session.execute(update).await.map_err(failure)?;
        match answer.affected_rows {
            // The server does not count a row that had the very value already, which short ones may.
            0 if !values_differ(self.fields.shape.field_length as usize) => Ok(()),
            rows => written_once(key, "updated", rows),
        }
    }

    async fn insert(&mut self, key: &Key) -> Result<()> {
        let Prepared { insert, .. } = ready(&mut self.prepared)?;
        insert.set_text(0, key.as_bytes()).map_err(failure)?;
        for field in 0..self.fields.shape.field_count {
            let bytes = insert.text_mut(1 + usize::from(field));
            self.fields.write(field, Value::inserted(key, field), bytes)?;
        }
        let answer = self.session.execute(insert).await.map_err(failure)?;
        written_once(key, "inserted", answer.affected_rows)
    }

    async fn scan(&mut self, first: &Key, count: u32) -> Result<bool> {
        let Prepared { scan: statement, .. } = ready(&mut self.prepared)?;
        statement.set_text(0, first.as_bytes()).map_err(failure)?;
        statement.set_integer(1, count.into());
        let mut right = Ok(());
        let mut scan = Scan::from(first);
        let scanned = self.session.execute_rows(statement, |row| {
            let checked = check_row::<S>(&mut self.fields, row, None, Fields::check);
            note(&mut right, checked.and_then(|key| scan.record(key)))
        });
        scanned.await.map_err(failure)?;
        right?;
        scan.end(count)
    }

    async fn create(&mut self) -> Result<()> {
        let dialect = S::DIALECT;
        let kind = |field| match (self.encrypted, self.fields.are_bytes(field)) {
            (Some(encrypted), _) => encrypted.column_type(self.fields.length(field)),
            (None, true) => dialect.bytes,
            (None, false) => (dialect.text)(self.fields.length(field)),
        };
        let mut sql = format!(
            "CREATE TABLE IF NOT EXISTS {} (YCSB_KEY VARCHAR(255){} PRIMARY KEY",
            self.table.name(),
            dialect.bytewise
        );
        for field in 0..self.fields.shape.field_count {
            // Writing to a text cannot fail.
            let _ = write!(sql, ", FIELD{field} {}", kind(field));
        }
        let _ = write!(sql, "){}", dialect.storage);
        if let Some(installation) = self.encrypted.and_then(|encrypted| encrypted.installation()) {
            self.run(&installation).await?;
        }
        self.run(&sql).await
    }

    async fn empty(&mut self) -> Result<()> {
        let sql = format!("{}{}", S::DIALECT.empty, self.table.name());
        self.run(&sql).await
    }

    async fn count(&mut self) -> Result<u64> {
        let sql = format!("SELECT COUNT(*) FROM {}", self.table.name());
        let rows = self.session.query(&sql).await.map_err(failure)?;
        number(rows.first().map(|row| row.text(0)))
    }

    async fn count_of(&mut self, numbers: Range<u64>) -> Result<u64> {
        let mut count = 0;
        for few in pieces(numbers) {
            self.query.truncate(0);
            self.query.push(b"SELECT YCSB_KEY FROM ");
            self.query.push(self.table.name().as_bytes());
            self.write_condition(few);
            count += self.session.run(&mut self.query).await.map_err(failure)?.rows;
        }
        Ok(count)
    }

    async fn insert_many(&mut self, numbers: Range<u64>) -> Result<u64> {
        // What is measured is what YCSB's clients send: batches of inserts.
        let can_copy = S::DIALECT.loading == Loading::Copy && self.encrypted.is_none();
        let copies = can_copy && self.table == Table::Usertable;
        let mut requests = 0;
        let mut next = numbers.start;
        while next < numbers.end {
            let left = next..numbers.end;
            next = match copies {
                true => self.load_some(left).await?,
                false => self.insert_some(left).await?,
            };
            requests += 1;
        }
        Ok(requests)
    }

    async fn delete_many(&mut self, numbers: Range<u64>) -> Result<u64> {
        let mut deleted = 0;
        for few in pieces(numbers) {
            self.query.truncate(0);
            self.query.push(b"DELETE FROM ");
            self.query.push(self.table.name().as_bytes());
            self.write_condition(few);
            deleted += self.run_query().await?;
        }
        Ok(deleted)
    }

    async fn look_at_all(&mut self) -> Result<u64> {
        let mut sql = String::from("SELECT COUNT(*)");
        let field_count = self.fields.shape.field_count;
        for field in 0..field_count {
            // Writing to a text cannot fail.
            let length = self.fields.length(field);
            let field = field_text(field, self.encrypted);
            let _ = write!(sql, ", COUNT(CASE WHEN LENGTH({field}) = {length} THEN 1 END)");
        }
        let _ = write!(sql, " FROM {}", self.table.name());
        let rows = self.session.query(&sql).await.map_err(failure)?;
        let row = rows.first();
        let count = number(row.map(|row| row.text(0)))?;
        for field in 0..field_count {
            let whole = row
                .map(|row| row.text(1 + usize::from(field)))
                .unwrap_or_default();
            if whole != count.to_string() {
                let table = self.table.name();
                return Err(Failure::Error(format!(
                    "of {count} records of {table}, {whole} have a field{field} of {} bytes",
                    self.fields.length(field)
                )));
            }
        }
        Ok(count)
    }

    async fn verify(&mut self, number: u64) -> Result<()> {
        let key = Key::of(number);
        self.prepare_read().await?;
        is_there(&key, self.fetch(&key, Fields::check_all).await?)
    }

    fn work(&self) -> Work {
        Work {
            traffic: self.session.traffic(),
            cells: self.fields.counts(),
        }
    }

    async fn close(mut self) -> Result<()> {
        // Of SQLite, whose file is closed when nothing uses it any more.
        self.read = None;
        self.session.close().await.map(drop).map_err(failure)
    }
}
