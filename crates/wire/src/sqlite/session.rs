//! A session: statements, rows, errors, goodbye.

use std::ffi::c_int;
use std::rc::Rc;
use std::time::Instant;

use ciphertax_base::{AuthenticationFacts, ConnectTrace, LoginPath, PhaseTrace, SessionFacts};
use ciphertax_reactor::Reactor;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Row};

use super::connect::ConnectOptions;
use super::dialect::DIALECT;
use super::statement::{Statement, summed_up};
use super::version;
use crate::client;
use crate::error::{Result, WireError};
use crate::sql::{Dialect, Parameter, Query, ResultSummary, SqlSession, TextRow};
use crate::trace::Traffic;
use crate::value::{MOST_VALUES, Scratch, Value, check_columns};

/// A file that is open. Nothing of it is sent anywhere.
pub struct Session {
    /// `None` after the goodbye.
    connection: Option<Rc<Connection>>,
    authentication: AuthenticationFacts,
    /// The row that is handed over, written into the place of the one before.
    row: Vec<u8>,
    scratch: Scratch,
}

impl Session {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection: Some(Rc::new(connection)),
            authentication: AuthenticationFacts {
                method: "none".into(),
                path: LoginPath::Single,
            },
            row: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Runs a text statement that is written for this once, and passes over its rows.
    ///
    /// # Errors
    /// SQLite's own.
    pub fn command(&mut self, sql: &str) -> Result<ResultSummary> {
        let connection = self.connection()?;
        let mut statement = connection.prepare(sql).map_err(refused)?;
        summed_up(connection, &mut statement, |_, _| Ok(()))
    }

    /// Runs a text statement and collects its rows.
    ///
    /// # Errors
    /// SQLite's own.
    pub fn query(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        let connection = self.connection()?;
        let mut statement = connection.prepare(sql).map_err(refused)?;
        let mut rows = Vec::new();
        summed_up(connection, &mut statement, |row, columns| {
            rows.push(text_row(row, columns)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs statements that are separated by semicolons, and passes over their rows.
    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        self.connection()?.execute_batch(sql).map_err(refused)
    }

    /// What it is.
    pub fn facts(&self) -> SessionFacts {
        SessionFacts {
            server_version: version().to_owned(),
            authentication: self.authentication.clone(),
            tls: None,
        }
    }

    /// Closes the file, which writes the rest of the log into it if no other session has it open.
    ///
    /// # Errors
    /// SQLite's own.
    pub fn close(mut self) -> Result<PhaseTrace> {
        self.close_file()
    }

    fn close_file(&mut self) -> Result<PhaseTrace> {
        let began = Instant::now();
        // Where statements are left, the last of them closes the file.
        if let Some(connection) = self.connection.take().and_then(Rc::into_inner) {
            connection.close().map_err(|(_, error)| refused(error))?;
        }
        Ok(Traffic::default().phase_since(began, Traffic::default()))
    }

    pub(super) fn connection(&self) -> Result<&Rc<Connection>> {
        self.connection.as_ref().ok_or(WireError::Closed)
    }
}

impl client::Session for Session {
    type Options = ConnectOptions;

    async fn connect(_: &Rc<Reactor>, options: &ConnectOptions) -> Result<(Self, ConnectTrace)> {
        Self::open(options)
    }

    async fn leave(&mut self) -> Result<PhaseTrace> {
        self.close_file()
    }

    fn authentication(&self) -> &AuthenticationFacts {
        &self.authentication
    }
}

impl SqlSession for Session {
    type Statement = Statement;

    const DIALECT: Dialect = DIALECT;

    /// A file has one schema.
    fn within(options: &ConnectOptions, _schema: Option<&str>) -> ConnectOptions {
        options.clone()
    }

    async fn prepare(&mut self, sql: &str, parameters: &[Parameter]) -> Result<Statement> {
        Statement::new(self.connection()?, sql, parameters)
    }

    async fn execute(&mut self, statement: &mut Statement) -> Result<ResultSummary> {
        statement.execute_with(|_, _| Ok(()))
    }

    async fn execute_rows(
        &mut self,
        statement: &mut Statement,
        mut on_row: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<ResultSummary> {
        let buffer = &mut self.row;
        statement.execute_with(|row, columns| {
            write_row(row, columns, buffer)?;
            on_row(buffer)
        })
    }

    fn texts(row: &[u8], _columns: usize) -> Result<impl Iterator<Item = Result<&[u8]>>> {
        Ok(Texts(row))
    }

    async fn execute_values(
        &mut self,
        statement: &mut Statement,
        mut on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary> {
        let scratch = &mut self.scratch;
        statement.execute_with(|row, columns| read_values(row, columns, scratch, &mut on_row))
    }

    async fn run(&mut self, query: &mut Query) -> Result<ResultSummary> {
        Session::command(self, text(query)?)
    }

    async fn run_values(
        &mut self,
        query: &mut Query,
        mut on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary> {
        let connection = self.connection.as_ref().ok_or(WireError::Closed)?;
        let scratch = &mut self.scratch;
        let mut statement = connection.prepare(text(query)?).map_err(refused)?;
        summed_up(connection, &mut statement, |row, columns| {
            read_values(row, columns, scratch, &mut on_row)
        })
    }

    /// Without a copy of the text.
    async fn command(&mut self, sql: &str) -> Result<ResultSummary> {
        Session::command(self, sql)
    }

    async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        Session::query(self, sql)
    }
}

fn text(query: &Query) -> Result<&str> {
    str::from_utf8(query.text()).map_err(|error| WireError::Request(error.to_string()))
}

/// Keeps a row as text.
pub(super) fn text_row(row: &Row<'_>, columns: usize) -> Result<TextRow> {
    let values = (0..columns).map(|column| Ok(text_of(row.get_ref(column).map_err(refused)?)));
    values.collect::<Result<_>>().map(TextRow::new)
}

fn text_of(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string().into_bytes()),
        ValueRef::Real(value) => Some(value.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// The values of a row that was handed over, NULL and numbers as empty ones: each is its length and its bytes.
pub(super) struct Texts<'a>(pub(super) &'a [u8]);

/// Bytes of a length.
const LENGTH: usize = size_of::<u32>();

impl<'a> Iterator for Texts<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.0.split_first_chunk::<LENGTH>()?;
        let Some((text, rest)) = rest.split_at_checked(u32::from_ne_bytes(*length) as usize) else {
            self.0 = &[];
            return Some(Err(WireError::protocol("a row that ends within a value")));
        };
        self.0 = rest;
        Some(Ok(text))
    }
}

/// Writes a row in the place of what is in the buffer.
pub(super) fn write_row(row: &Row<'_>, columns: usize, buffer: &mut Vec<u8>) -> Result<()> {
    buffer.clear();
    for column in 0..columns {
        let text = match row.get_ref(column).map_err(refused)? {
            ValueRef::Text(text) | ValueRef::Blob(text) => text,
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => &[],
        };
        // SQLite's longest value is shorter than 4 GiB.
        buffer.extend_from_slice(&(text.len() as u32).to_ne_bytes());
        buffer.extend_from_slice(text);
    }
    Ok(())
}

pub(super) fn read_values(
    row: &Row<'_>,
    columns: usize,
    scratch: &mut Scratch,
    on_row: &mut impl FnMut(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    check_columns(columns)?;
    let mut places = scratch.places(columns);
    let mut values = [Value::Null; MOST_VALUES];
    for (column, value) in values[..columns].iter_mut().enumerate() {
        *value = match row.get_ref(column).map_err(refused)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Real(real) => places
                .write(|text| text.number(real, real.abs()))
                .ok_or_else(|| WireError::protocol("a number that is too long"))?,
            ValueRef::Text(text) | ValueRef::Blob(text) => Value::Text(text),
        };
    }
    on_row(&values[..columns])
}

/// Without the statement, which may hold a key.
pub(super) fn refused(error: Error) -> WireError {
    match error {
        Error::SqliteFailure(error, message) => WireError::Sqlite {
            code: error.extended_code,
            message: message.unwrap_or_else(|| error.to_string()),
        },
        Error::SqlInputError { error, msg, .. } => WireError::Sqlite {
            code: error.extended_code,
            message: msg,
        },
        other => WireError::Request(other.to_string()),
    }
}

/// The code of what SQLite said, without what extends it; `None` for what it did not say.
pub(super) fn primary(error: &WireError) -> Option<c_int> {
    match error {
        WireError::Sqlite { code, .. } => Some(code & 0xFF),
        _ => None,
    }
}
