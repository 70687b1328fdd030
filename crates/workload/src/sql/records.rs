//! YCSB's table over SQL, with the columns that YCSB's JDBC binding documents
//! (`jdbc/src/main/resources/sql/create_table.sql`, release 0.17).

use std::fmt::Write as _;
use std::ops::Range;
use std::rc::Rc;

use ciphertax_engine::{Failure, Slot};
use ciphertax_model::YcsbTable;
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use rand_pcg::Pcg64Mcg;

use super::Loading;
use super::columns::Columns;
use super::rows::{Rows, statement};
use super::session::{Parameter, Query, SqlSession, Statement, Trouble};
use crate::dataset::mark::vacuum;
use crate::driver::{Access, failure};
use crate::ycsb::fields::{FieldEncryption, Fields, FieldsCheck};
use crate::ycsb::records::{Value, at_most_one, changed, in_order, is_there, values_differ};
use crate::ycsb::{Connection, Key, KeyValue, Loader, Table, Work};

/// A statement ends with the record that makes it this long, in bytes: every server's packets hold it.
const LONG_STATEMENT: usize = 1 << 20;
/// Keys that one statement names.
const KEYS_AT_A_TIME: usize = 1000;

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
    type Connection = SqlConnection<C::Session>;
    type Loader = SqlLoader<C::Session>;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection, Failure> {
        let session = self.access.open(reactor, slot.index).await?;
        let fields = Fields::open(&self.table, Table::Usertable, self.fields.as_ref())?;
        SqlConnection::prepare(session, fields, self.columns)
            .await
            .map_err(failure)
    }

    async fn open_loader(&self, reactor: &Rc<Reactor>, table: Table) -> Result<Self::Loader, Failure> {
        let session = self.access.open(reactor, 0).await?;
        SqlLoader::open(session, table, &self.table, self.columns, self.fields.as_ref()).await
    }
}

/// A session with its statements.
pub struct SqlConnection<S: SqlSession> {
    session: S,
    read: S::Statement,
    /// One a field.
    updates: Vec<S::Statement>,
    insert: S::Statement,
    scan: S::Statement,
    fields: Fields,
}

impl<S: SqlSession> SqlConnection<S> {
    async fn prepare(mut session: S, fields: Fields, encrypted: Option<Columns>) -> Result<Self, WireError> {
        let field_count = fields.shape.field_count;
        if let Some(encrypted) = encrypted {
            encrypted.begin(&mut session).await?;
        }
        let dialect = S::DIALECT;
        let table = Table::Usertable.name();
        let record = record(field_count, encrypted);
        let [before, after] = around_value(encrypted);
        let read = format!("SELECT {record} FROM {table} WHERE YCSB_KEY = ?");
        let scan = format!("SELECT {record} FROM {table} WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?");
        let field = |number| Parameter::Text(fields.length(number));
        let mut updates = Vec::with_capacity(field_count.into());
        let mut columns = String::new();
        for number in 0..field_count {
            let update = format!("UPDATE {table} SET FIELD{number} = {before}?{after} WHERE YCSB_KEY = ?");
            let update = dialect.prepared(&update);
            updates.push(
                session
                    .prepare(&update, &[field(number), Parameter::VariableText])
                    .await?,
            );
            // Writing to a text cannot fail.
            let _ = write!(columns, ", FIELD{number}");
        }
        let blanks = format!(", {before}?{after}").repeat(field_count.into());
        let insert = format!("INSERT INTO {table} (YCSB_KEY{columns}) VALUES (?{blanks})");
        let [read, insert, scan] = [read, insert, scan].map(|sql| dialect.prepared(&sql));
        let mut of_insert = vec![Parameter::VariableText];
        of_insert.extend((0..field_count).map(field));
        Ok(Self {
            read: session.prepare(&read, &[Parameter::VariableText]).await?,
            updates,
            insert: session.prepare(&insert, &of_insert).await?,
            scan: session
                .prepare(&scan, &[Parameter::VariableText, Parameter::Integer])
                .await?,
            session,
            fields,
        })
    }
}

impl<S: SqlSession> Connection for SqlConnection<S> {
    async fn read(&mut self, key: &Key) -> Result<bool, Failure> {
        self.read.set_text(0, key.as_bytes()).map_err(failure)?;
        let mut right = Ok(());
        let answer = self
            .session
            .execute_rows(&mut self.read, |row| {
                note(&mut right, check_row::<S>(&mut self.fields, row, Some(key)))
            })
            .await
            .map_err(failure)?;
        right?;
        at_most_one(key, answer.rows)
    }

    async fn update(&mut self, key: &Key, field: u16, values: &mut Pcg64Mcg) -> Result<(), Failure> {
        let update = &mut self.updates[usize::from(field)];
        self.fields
            .write(field, Value::another(key, field, values), update.text_mut(0))?;
        update.set_text(1, key.as_bytes()).map_err(failure)?;
        let answer = self.session.execute(update).await.map_err(failure)?;
        match answer.affected_rows {
            1 => Ok(()),
            // The server does not count a row that had the very value already, which short ones may.
            0 if !values_differ(self.fields.shape.field_length as usize) => Ok(()),
            rows => Err(changed(
                key,
                format_args!("was updated {rows} times; expected once"),
            )),
        }
    }

    async fn insert(&mut self, key: &Key) -> Result<(), Failure> {
        self.insert.set_text(0, key.as_bytes()).map_err(failure)?;
        for field in 0..self.fields.shape.field_count {
            let bytes = self.insert.text_mut(1 + usize::from(field));
            self.fields.write(field, Value::inserted(key, field), bytes)?;
        }
        let answer = self.session.execute(&mut self.insert).await.map_err(failure)?;
        match answer.affected_rows {
            1 => Ok(()),
            rows => Err(changed(
                key,
                format_args!("was inserted {rows} times; expected once"),
            )),
        }
    }

    async fn scan(&mut self, first: &Key, count: u32) -> Result<bool, Failure> {
        self.scan.set_text(0, first.as_bytes()).map_err(failure)?;
        self.scan.set_integer(1, count.into());
        let mut right = Ok(());
        let mut last: Option<Key> = None;
        let mut has_first = false;
        let answer = self
            .session
            .execute_rows(&mut self.scan, |row| {
                let checked = check_row::<S>(&mut self.fields, row, None).and_then(|key| {
                    has_first |= key == *first;
                    let before = last.replace(key);
                    in_order(before.as_ref(), &key)
                });
                note(&mut right, checked)
            })
            .await
            .map_err(failure)?;
        right?;
        match answer.rows {
            rows if rows > count.into() => Err(changed(
                first,
                format_args!("begins a scan of {rows} records; asked for {count}"),
            )),
            _ => Ok(has_first),
        }
    }

    fn work(&self) -> Work {
        Work {
            traffic: self.session.traffic(),
            cells: self.fields.counts(),
        }
    }
}

/// A session that writes and looks at many records at a time.
pub struct SqlLoader<S: SqlSession> {
    session: S,
    table: Table,
    fields: Fields,
    encrypted: Option<Columns>,
    query: Query,
    /// Reads a record whose cells are decrypted here.
    read: Option<S::Statement>,
    /// What an insert begins with.
    insert: String,
}

impl<S: SqlSession> SqlLoader<S> {
    /// Writes over this session, whose schema is ciphertax's own.
    ///
    /// # Errors
    /// When the server refuses, or the client cannot encrypt so.
    pub(crate) async fn open(
        mut session: S,
        table: Table,
        shape: &YcsbTable,
        encrypted: Option<Columns>,
        fields: Option<&FieldEncryption>,
    ) -> Result<Self, Failure> {
        if let Some(encrypted) = encrypted {
            encrypted.begin(&mut session).await.map_err(failure)?;
        }
        Ok(Self {
            session,
            table,
            fields: Fields::open(shape, table, fields)?,
            encrypted,
            query: Query::new(""),
            read: None,
            insert: statement(Loading::Insert, table.name()),
        })
    }

    /// Has the server know how large the table is.
    pub(crate) async fn settle(&mut self) -> Result<(), WireError> {
        vacuum(&mut self.session, self.table.name()).await
    }

    async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.session.command(sql).await.map(drop).map_err(failure)
    }

    /// Runs the statement in the buffer: anew when the server gave up on it for the sake of another session's.
    async fn run_query(&mut self) -> Result<u64, Failure> {
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
    async fn insert_some(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
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
    async fn load_some(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
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

    /// Reads a record whose cells may be bytes that are no text.
    async fn verify_cells(&mut self, key: &Key) -> Result<(), Failure> {
        let read = match self.read.take() {
            Some(read) => read,
            None => {
                let sql = format!("SELECT * FROM {} WHERE YCSB_KEY = ?", self.table.name());
                let sql = S::DIALECT.prepared(&sql);
                let prepared = self.session.prepare(&sql, &[Parameter::VariableText]);
                prepared.await.map_err(failure)?
            }
        };
        let Self { session, fields, .. } = self;
        let read = self.read.insert(read);
        read.set_text(0, key.as_bytes()).map_err(failure)?;
        let mut right = Ok(());
        let answer = session
            .execute_rows(read, |row| {
                let checked = check_fields::<S>(row, Some(key), fields.shape.field_count, |_| {
                    fields.check_all(*key)
                });
                note(&mut right, checked)
            })
            .await
            .map_err(failure)?;
        right?;
        is_there(key, at_most_one(key, answer.rows)?)
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

impl<S: SqlSession> Loader for SqlLoader<S> {
    async fn create(&mut self) -> Result<(), Failure> {
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

    async fn empty(&mut self) -> Result<(), Failure> {
        let sql = format!("{}{}", S::DIALECT.empty, self.table.name());
        self.run(&sql).await
    }

    async fn count(&mut self) -> Result<u64, Failure> {
        let sql = format!("SELECT COUNT(*) FROM {}", self.table.name());
        let rows = self.session.query(&sql).await.map_err(failure)?;
        number(rows.first().map(|row| row.text(0)))
    }

    async fn count_of(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
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

    async fn insert_many(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
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

    async fn delete_many(&mut self, numbers: Range<u64>) -> Result<u64, Failure> {
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

    async fn look_at_all(&mut self) -> Result<u64, Failure> {
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

    async fn verify(&mut self, number: u64) -> Result<(), Failure> {
        let key = Key::of(number);
        if self.fields.have_cells() {
            return self.verify_cells(&key).await;
        }
        let field_count = self.fields.shape.field_count;
        let sql = format!(
            "SELECT {} FROM {} WHERE YCSB_KEY = '{}'",
            record(field_count, self.encrypted),
            self.table.name(),
            key.as_str()
        );
        let rows = self.session.query(&sql).await.map_err(failure)?;
        is_there(&key, at_most_one(&key, rows.len() as u64)?)?;
        let mut check = self.fields.check_all(key);
        for column in 1..=field_count {
            check.field(rows[0].text(column.into()).as_bytes())?;
        }
        check.end()
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

/// The columns of a record as they were written.
fn record(field_count: u16, encrypted: Option<Columns>) -> String {
    let Some(encrypted) = encrypted else {
        return "*".to_owned();
    };
    let fields = (0..field_count).map(|field| field_text(field, Some(encrypted)));
    let columns: Vec<String> = std::iter::once("YCSB_KEY".to_owned()).chain(fields).collect();
    columns.join(", ")
}

/// A field as it was written.
fn field_text(field: u16, encrypted: Option<Columns>) -> String {
    let column = format!("FIELD{field}");
    encrypted.map_or(column.clone(), |encrypted| encrypted.decrypted(&column))
}

/// What stands around a value of a field.
fn around_value(encrypted: Option<Columns>) -> [&'static str; 2] {
    encrypted.map_or(["", ""], |encrypted| encrypted.around_value())
}

/// Writes records until they are many, and returns the number of the first that is left; `around` stands around each field.
fn push_records<S: SqlSession>(
    mut rows: Rows<'_>,
    fields: &mut Fields,
    around: [&str; 2],
    numbers: Range<u64>,
) -> Result<u64, Failure> {
    // Quotes are those of the rows.
    let [before_bytes, after_bytes] = S::DIALECT.around_bytes.map(|side| side.trim_matches('\''));
    for number in numbers.clone() {
        let key = Key::of(number);
        rows.begin_row();
        rows.text(key.as_bytes().len(), |text| text.copy_from_slice(key.as_bytes()));
        for field in 0..fields.shape.field_count {
            let value = Value::inserted(&key, field);
            let length = fields.length(field);
            let mut made = Ok(());
            match fields.are_bytes(field) {
                true => rows.text_in([before_bytes, after_bytes], 2 * length, |digits| {
                    made = fields.write_digits(field, value, digits);
                }),
                false => rows.text_in(around, length, |text| made = fields.write(field, value, text)),
            }
            made?;
        }
        rows.end_row();
        if rows.buffer.length() >= LONG_STATEMENT {
            return Ok(number + 1);
        }
    }
    Ok(numbers.end)
}

fn all_inserted(inserted: u64, records: u64) -> Result<(), Failure> {
    match inserted == records {
        true => Ok(()),
        false => Err(Failure::Error(format!(
            "{inserted} of {records} records were inserted"
        ))),
    }
}

/// Checks a row, of the record `expected` if that is known, and returns its key.
fn check_row<S: SqlSession>(fields: &mut Fields, row: &[u8], expected: Option<&Key>) -> Result<Key, Failure> {
    check_fields::<S>(row, expected, fields.shape.field_count, |key| fields.check(key))
}

/// The same by what checks the fields of that record.
fn check_fields<'a, S: SqlSession>(
    row: &[u8],
    expected: Option<&Key>,
    field_count: u16,
    check: impl FnOnce(Key) -> FieldsCheck<'a>,
) -> Result<Key, Failure> {
    let columns = 1 + usize::from(field_count);
    let mut texts = S::texts(row, columns).map_err(failure)?;
    let text = texts.next().transpose().map_err(failure)?.unwrap_or_default();
    let key = match expected {
        Some(expected) if expected.as_bytes() == text => *expected,
        Some(expected) => {
            let other = String::from_utf8_lossy(text);
            return Err(changed(
                expected,
                format_args!("was asked for, and {other:?} came"),
            ));
        }
        None => Key::parse(text).ok_or_else(|| {
            let text = String::from_utf8_lossy(text);
            Failure::Error(format!("{text:?} is no key of YCSB's: was the table changed?"))
        })?,
    };
    let mut check = check(key);
    for value in texts {
        check.field(value.map_err(failure)?)?;
    }
    check.end()?;
    Ok(key)
}

/// Keeps the first thing that is wrong; the rows after it are still read.
fn note(right: &mut Result<(), Failure>, checked: Result<impl Sized, Failure>) -> Result<(), WireError> {
    if right.is_ok() {
        *right = checked.map(|_| ());
    }
    Ok(())
}

/// A number that the server gave as text.
fn number(text: Option<String>) -> Result<u64, Failure> {
    let text = text.unwrap_or_default();
    text.parse()
        .map_err(|_| Failure::Error(format!("{text:?} came where a number was asked for")))
}

/// The numbers, cut into as many as one statement names.
fn pieces(numbers: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = numbers.end;
    numbers
        .step_by(KEYS_AT_A_TIME)
        .map(move |first| first..end.min(first + KEYS_AT_A_TIME as u64))
}
