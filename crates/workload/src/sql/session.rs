//! What SQL workloads ask of a database's session. Every kind of server that has it can be measured with all of them.

use std::future::Future;

pub use ciphertax_wire::Value;
use ciphertax_wire::{Session, WireError};

use super::dialect::Dialect;
use crate::client::Client;

/// A session of a database that speaks SQL. Statements are the database's own: what differs between databases is looked
/// up in its [`Dialect`].
pub trait SqlSession: Session {
    /// A prepared statement.
    type Statement: Statement;
    /// A text statement in a buffer.
    type Query: Query;
    /// A row of a question that is not measured.
    type Row: Row;

    /// How the database spells what is not the same everywhere.
    const DIALECT: Dialect;

    /// True if the server gave up on a transaction for the sake of another, so that it is to be begun anew.
    fn is_to_be_restarted(error: &WireError) -> bool;

    /// True if the server executes a statement, but does not prepare it.
    fn is_not_preparable(error: &WireError) -> bool;

    /// Prepares a statement with parameters of these types.
    fn prepare(
        &mut self,
        sql: &str,
        parameters: &[Parameter],
    ) -> impl Future<Output = Result<Self::Statement, WireError>>;

    /// Executes a prepared statement with the values that were set and passes over its rows.
    fn execute(&mut self, statement: &mut Self::Statement)
    -> impl Future<Output = Result<Answer, WireError>>;

    /// Runs a text statement and passes over its rows.
    fn run(&mut self, query: &mut Self::Query) -> impl Future<Output = Result<Answer, WireError>>;

    /// Executes a prepared statement with the values that were set, and hands over the values of each row where they were
    /// received; at most 64 columns.
    fn execute_values(
        &mut self,
        statement: &mut Self::Statement,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> impl Future<Output = Result<Answer, WireError>>;

    /// Runs a text statement, and hands over the values of each row where they were received; at most 64 columns.
    fn run_values(
        &mut self,
        query: &mut Self::Query,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> impl Future<Output = Result<Answer, WireError>>;

    /// Runs a text statement that is written for this once, and passes over its rows.
    fn command(&mut self, sql: &str) -> impl Future<Output = Result<Answer, WireError>>;

    /// Runs a text statement and collects its rows.
    fn query(&mut self, sql: &str) -> impl Future<Output = Result<Vec<Self::Row>, WireError>>;
}

/// A client that speaks SQL.
pub trait Sql: Client<Session: SqlSession> {}

impl<C: Client<Session: SqlSession>> Sql for C {}

/// What making the data set and asking for its records needs besides.
pub trait DataSession: SqlSession {
    /// Rows of a table, after the statement that they are part of.
    type Rows: Query;

    /// The same way, to a session whose tables are looked for in this schema; `None` for none.
    fn within(options: &Self::Options, schema: Option<&str>) -> Self::Options;

    /// The number by which the server knows the connection.
    fn id(&self) -> u32;

    /// True if a row of the same key was there.
    fn is_duplicate(error: &WireError) -> bool;

    /// Loads rows, and returns how many the server took.
    fn load(&mut self, rows: &mut Self::Rows) -> impl Future<Output = Result<u64, WireError>>;

    /// The same way, to a session that may load lines, where the client has to allow that.
    fn that_loads(options: &Self::Options) -> Self::Options;

    /// Loads rows into these columns of a table, as `t (a, b)`, and returns how many the server took: lines of values that
    /// are parted by tabs, with `\\N` for NULL and a backslash before what else would mean something.
    ///
    /// # Errors
    /// The server's own, also where it took a row otherwise than it was sent; and those of the connection.
    fn load_lines(
        &mut self,
        table_and_columns: &str,
        lines: &[u8],
    ) -> impl Future<Output = Result<u64, WireError>>;

    /// True if the server, or the client, loads no lines, so that rows have to be inserted otherwise.
    fn takes_no_lines(error: &WireError) -> bool;

    /// Executes a prepared statement with the values that were set and hands over each row where it was received.
    fn execute_rows(
        &mut self,
        statement: &mut Self::Statement,
        on_row: impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> impl Future<Output = Result<Answer, WireError>>;

    /// The values of a row that was handed over and is known to have so many columns of text, NULL as an empty one.
    fn texts(row: &[u8], columns: usize)
    -> Result<impl Iterator<Item = Result<&[u8], WireError>>, WireError>;
}

/// A prepared statement of one session. Values are written where they will be sent.
pub trait Statement {
    /// Sets an integer parameter, counted from 0.
    fn set_integer(&mut self, index: usize, value: i64);

    /// The bytes of a text parameter, counted from 0, to be written over.
    fn text_mut(&mut self, index: usize) -> &mut [u8];

    /// Sets a text parameter of varying length, counted from 0.
    ///
    /// # Errors
    /// When it is too long for one.
    fn set_text(&mut self, index: usize, text: &[u8]) -> Result<(), WireError>;

    /// Has the values of these columns of its results read as texts, whatever their types: so travel cells that stand in place of
    /// values. The lowest bit is the first column. Where values travel with their lengths, there is nothing to be said.
    fn read_as_text(&mut self, _columns: u64) {}
}

/// A text statement in a buffer of its own, which is written again and again.
pub trait Query {
    /// A statement of this text.
    fn new(text: &str) -> Self;

    /// Bytes of the text.
    fn length(&self) -> usize;

    /// Cuts the text off after so many bytes.
    fn truncate(&mut self, length: usize);

    /// Appends text.
    fn push(&mut self, text: &[u8]);

    /// Appends so many bytes, to be written over.
    fn push_blank(&mut self, length: usize) -> &mut [u8];
}

/// A row of text.
pub trait Row {
    /// The value of a column, empty for NULL or where there is no such column.
    fn text(&self, column: usize) -> String;
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A signed integer of 64 bits.
    Integer,
    /// Text of always the same length, in bytes.
    Text(usize),
    /// Text of any length up to 65,535 bytes.
    VariableText,
}

/// What came back for a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Rows of the result.
    pub rows: u64,
    /// Bytes of these rows.
    pub row_bytes: u64,
    /// Rows inserted, updated or deleted.
    pub affected_rows: u64,
}
