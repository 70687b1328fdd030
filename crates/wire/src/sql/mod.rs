//! What the clients of SQL databases have in common, for code that need not know which database it is.

pub(crate) mod dialect;

use crate::client::Session;
use crate::error::{Result, WireError};
use crate::value::Value;

pub use dialect::{BytesInLines, Dialect, Loading, Placeholders, Transactions};

/// A session of a database that speaks SQL. Statements are the database's own: what differs between databases is looked up in its
/// [`Dialect`].
pub trait SqlSession: Session {
    /// A prepared statement.
    type Statement: Statement;

    /// How the database spells what is not the same everywhere.
    const DIALECT: Dialect;

    /// The same way, to a session whose tables are looked for in this schema; `None` for none.
    fn within(options: &Self::Options, schema: Option<&str>) -> Self::Options;

    /// The same way, to a session that may load lines, where the client has to allow that.
    fn that_loads(options: &Self::Options) -> Self::Options {
        options.clone()
    }

    /// The number by which the server knows the connection; 0 if it has not told, and where there is no server.
    fn id(&self) -> u32 {
        0
    }

    /// Prepares a statement with parameters of these types.
    ///
    /// # Errors
    /// The server's own and those of the connection; `parameters` that are not those of the statement.
    async fn prepare(&mut self, sql: &str, parameters: &[Parameter]) -> Result<Self::Statement>;

    /// Executes a prepared statement with the values that were set and passes over its rows.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    async fn execute(&mut self, statement: &mut Self::Statement) -> Result<ResultSummary> {
        self.execute_rows(statement, |_| Ok(())).await
    }

    /// Executes a prepared statement with the values that were set, and hands over each row where it was received: in the
    /// server's binary form, which for text is the text, and which [`SqlSession::texts`] reads.
    ///
    /// # Errors
    /// The server's own, those of the connection, and those of `on_row`.
    async fn execute_rows(
        &mut self,
        statement: &mut Self::Statement,
        on_row: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<ResultSummary>;

    /// The values of a row that was handed over and is known to have so many columns of text, NULL as an empty one.
    ///
    /// # Errors
    /// When it is no such row.
    fn texts(row: &[u8], columns: usize) -> Result<impl Iterator<Item = Result<&[u8]>>>;

    /// Executes a prepared statement with the values that were set, and hands over the values of each row where they were
    /// received. Dates and times are texts as the server writes them; so are numbers with a floating point, or the shortest
    /// that are read back as the same.
    ///
    /// # Errors
    /// Those of [`SqlSession::execute_rows`]; rows of more than 64 columns.
    async fn execute_values(
        &mut self,
        statement: &mut Self::Statement,
        on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary>;

    /// Runs a text statement and passes over its rows.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    async fn run(&mut self, query: &mut Query) -> Result<ResultSummary>;

    /// Runs a text statement, and hands over the values of each row where they were received: from servers all are texts.
    ///
    /// # Errors
    /// Those of [`SqlSession::execute_values`].
    async fn run_values(
        &mut self,
        query: &mut Query,
        on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary>;

    /// Runs a text statement that is written for this once, and passes over its rows.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    async fn command(&mut self, sql: &str) -> Result<ResultSummary> {
        self.run(&mut Query::new(sql)).await
    }

    /// Runs a text statement and collects its rows.
    ///
    /// # Errors
    /// The server's own and those of the connection; rows that do not end in time to be kept.
    async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>>;

    /// The same; no rows where the server does not know what is asked, or the account may not, and the session goes on.
    ///
    /// # Errors
    /// Those of [`SqlSession::query`] but for a refusal that leaves the session as it was.
    async fn query_or_none(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        match self.query(sql).await {
            Err(error) if error.leaves_session() => Ok(Vec::new()),
            rows => rows,
        }
    }

    /// Loads rows after the statement that they are part of, and returns how many the server took.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    async fn load(&mut self, rows: &mut Query) -> Result<u64> {
        Ok(self.run(rows).await?.affected_rows)
    }

    /// Loads rows into these columns of a table, as `t (a, b)`, and returns how many the server took: lines of values that are
    /// parted by tabs, with `\\N` for NULL and a backslash before what else would mean something; in pieces, which may end anywhere.
    ///
    /// # Errors
    /// The server's own, also where it took a row otherwise than it was sent; those of the connection; and where the server or the
    /// client loads no lines, so that rows have to be inserted otherwise, one that says so
    /// ([`WireError::is_lines_refused`]).
    async fn load_lines<'a>(
        &mut self,
        _table_and_columns: &str,
        _pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<u64> {
        Err(WireError::NoLines)
    }
}

/// A prepared statement of one session. Values are written where they will be sent.
///
/// # Panics
/// All functions may, if there is no such parameter or it is another.
pub trait Statement {
    /// Sets an integer parameter, counted from 0. One that is too large for what the server has it in is refused when the
    /// statement is executed.
    fn set_integer(&mut self, index: usize, value: i64);

    /// The bytes of a text parameter, counted from 0, to be written over.
    fn text_mut(&mut self, index: usize) -> &mut [u8];

    /// Sets a text parameter of varying length, counted from 0.
    ///
    /// # Errors
    /// When the text is too long, or with it the statement.
    fn set_text(&mut self, index: usize, text: &[u8]) -> Result<()>;

    /// Has the values of these columns of its results read as texts, whatever their types: so travel cells that stand in place of
    /// values. The lowest bit is the first column. Where values travel with their lengths, there is nothing to be said.
    fn read_as_text(&mut self, _columns: u64) {}
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A signed integer of 64 bits; on PostgreSQL of as many bytes as the server has it in (`int2`, `int4`, `int8`).
    Integer,
    /// Text of always the same length, in bytes.
    Text(usize),
    /// Text of at most 65,535 bytes, of another length each time.
    VariableText,
}

/// What refuses parameters that are not as many as a statement has.
pub(crate) fn wrong_number(parameters: usize, given: usize) -> WireError {
    WireError::Request(format!("the statement has {parameters} parameters, not {given}"))
}

/// How much an answer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResultSummary {
    /// Rows.
    pub rows: u64,
    /// Bytes of all rows, as the protocol carries them.
    pub row_bytes: u64,
    /// Rows that the statement changed; 0 for one that asks.
    pub affected_rows: u64,
}

/// A row of a text result, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRow(Vec<Option<Vec<u8>>>);

impl TextRow {
    /// A row of these values, `None` for NULL.
    pub fn new(values: Vec<Option<Vec<u8>>>) -> Self {
        Self(values)
    }

    /// The value of a column as text, empty for NULL or where there is no such column.
    pub fn text(&self, column: usize) -> String {
        match self.0.get(column) {
            Some(Some(value)) => String::from_utf8_lossy(value).into_owned(),
            _ => String::new(),
        }
    }

    /// True if the column is there and NULL.
    pub fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), Some(None))
    }
}

/// Bytes of rows that are collected at most.
const MOST_COLLECTED: usize = 16 << 20;

#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) rows: Vec<TextRow>,
    bytes: usize,
}

impl Collected {
    /// Keeps one more row as `parse` reads it; refused if it is too much.
    pub(crate) fn keep(&mut self, row: &[u8], parse: impl FnOnce(&[u8]) -> Result<TextRow>) -> Result<()> {
        self.bytes += row.len();
        if self.bytes > MOST_COLLECTED {
            return Err(WireError::protocol(
                "more rows than any question of ciphertax has",
            ));
        }
        self.rows.push(parse(row)?);
        Ok(())
    }
}

/// Bytes that MySQL and PostgreSQL have before a text: its length, and what it is.
const HEAD: usize = 5;

/// A text statement in a buffer of its own, which keeps its memory from one execution to the next.
pub struct Query {
    /// Room for the head, and the text.
    message: Vec<u8>,
    /// True if the zero that ends a text of PostgreSQL is there.
    ended: bool,
}

impl Query {
    /// A statement that begins with this text.
    pub fn new(text: &str) -> Self {
        // With room for the zero.
        let mut message = Vec::with_capacity(HEAD + text.len() + 1);
        message.extend_from_slice(&[0; HEAD]);
        message.extend_from_slice(text.as_bytes());
        Self {
            message,
            ended: false,
        }
    }

    /// Bytes of the text.
    pub fn length(&self) -> usize {
        self.message.len() - HEAD - usize::from(self.ended)
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        &self.message[HEAD..][..self.length()]
    }

    /// Keeps the first `length` bytes of the text.
    pub fn truncate(&mut self, length: usize) {
        self.unended().truncate(HEAD + length);
    }

    /// Appends text.
    pub fn push(&mut self, text: &[u8]) {
        self.unended().extend_from_slice(text);
    }

    /// Appends room for text, to be written over.
    pub fn push_blank(&mut self, length: usize) -> &mut [u8] {
        let message = self.unended();
        let end = message.len();
        message.resize(end + length, b' ');
        &mut message[end..]
    }

    /// The head, to be written over, and the text.
    pub(crate) fn unended(&mut self) -> &mut Vec<u8> {
        if self.ended {
            self.message.pop();
            self.ended = false;
        }
        &mut self.message
    }

    /// The same with a zero after the text.
    pub(crate) fn ended(&mut self) -> &mut [u8] {
        if !self.ended {
            self.message.push(0);
            self.ended = true;
        }
        &mut self.message
    }
}
