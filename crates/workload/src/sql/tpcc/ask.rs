//! A statement with its values, prepared or as text, and its results.

use ciphertax_engine::{Failure, Result};
use ciphertax_model::StatementKind;
use ciphertax_wire::WireError;

use super::columns::{ALL, Cells, MOST_COLUMNS, Row, wrong};
use super::statements::{Column, Kind, Text};
use super::terminal::missing;
use super::values::CENTS;
use crate::digits::{Digits, hexadecimal};
use crate::driver::failure;
use crate::sql::session::{Parameter, Query, ResultSummary, SqlSession, Statement, Trouble, Value};

/// A session with what it encrypts and decrypts, and a count of what it was asked.
pub(super) struct Asker<S> {
    pub(super) session: S,
    pub(super) cells: Cells,
    /// Statements answered so far.
    pub(super) queries: u64,
}

impl<S: SqlSession> Asker<S> {
    pub(super) async fn command(&mut self, query: &mut Query) -> Result<(), Trouble> {
        self.session.run(query).await?;
        self.queries += 1;
        Ok(())
    }
}

/// A statement of a session.
pub(super) struct Ask<S: SqlSession> {
    form: Form<S>,
    parameters: Vec<Slot>,
    results: Vec<Column>,
    /// The columns of the result that have cells, as bits.
    cells: u32,
    /// What was wrong with a value, until it is sent.
    wrong: Option<Failure>,
}

enum Form<S: SqlSession> {
    Prepared(S::Statement),
    /// What stands before each value, and after the last.
    Written {
        pieces: Vec<Box<[u8]>>,
        query: Query,
    },
}

#[derive(Clone, Copy)]
struct Slot {
    column: Column,
    /// True if a cell is stored.
    is_cell: bool,
}

impl<S: SqlSession> Ask<S> {
    pub(super) async fn open(
        asker: &mut Asker<S>,
        text: Text,
        kind: StatementKind,
    ) -> Result<Self, WireError> {
        let slot = |column: &Column| Slot {
            column: *column,
            is_cell: asker.cells.are_stored(*column),
        };
        let parameters: Vec<Slot> = text.parameters.iter().map(slot).collect();
        let bit = |(index, column): (usize, &Column)| u32::from(asker.cells.are_in_results(*column)) << index;
        let cells: u32 = text.results.iter().enumerate().map(bit).sum();
        let form = match kind {
            StatementKind::Prepared => {
                let types: Vec<Parameter> = parameters.iter().map(|slot| slot.parameter()).collect();
                let sql = text.prepared(&S::DIALECT);
                let mut statement = asker.session.prepare(&sql, &types).await?;
                statement.read_as_text(cells.into());
                Form::Prepared(statement)
            }
            StatementKind::Text => Form::Written {
                pieces: text.pieces.iter().map(|piece| piece.as_bytes().into()).collect(),
                query: Query::new(""),
            },
        };
        Ok(Self {
            form,
            parameters,
            results: text.results,
            cells,
            wrong: None,
        })
    }

    pub(super) fn columns(&self) -> usize {
        self.results.len()
    }

    /// Takes the values in the order of the statement's parameters; then it is sent.
    pub(super) fn bind<'a>(&'a mut self, asker: &'a mut Asker<S>) -> Bound<'a, S> {
        if let Form::Written { pieces, query } = &mut self.form {
            query.truncate(0);
            query.push(&pieces[0]);
        }
        Bound {
            ask: self,
            asker,
            next: 0,
        }
    }
}

impl<S: SqlSession> Ask<S> {
    fn is_right(&mut self) -> Result<(), Trouble> {
        self.wrong.take().map_or(Ok(()), |wrong| Err(wrong.into()))
    }
}

fn take_row(
    columns: &[Column],
    are_cells: u32,
    read: u32,
    cells: &mut Cells,
    values: &[Value<'_>],
    on_row: &mut impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    if values.len() != columns.len() {
        return Err(Failure::Error(format!(
            "a row of {} columns came where {} were asked for",
            values.len(),
            columns.len()
        )));
    }
    if are_cells == 0 {
        return on_row(Row { columns, values });
    }
    let mut room = [Value::Null; MOST_COLUMNS];
    let values = cells.decrypt(columns, are_cells, read, values, &mut room)?;
    on_row(Row { columns, values })
}

/// A statement whose values are set one after the other, and which is then sent.
pub(super) struct Bound<'a, S: SqlSession> {
    ask: &'a mut Ask<S>,
    asker: &'a mut Asker<S>,
    next: usize,
}

impl<S: SqlSession> Bound<'_, S> {
    /// Sends it and passes over its rows.
    pub(super) async fn send(&mut self) -> Result<ResultSummary, Trouble> {
        self.ask.is_right()?;
        let session = &mut self.asker.session;
        let answer = match &mut self.ask.form {
            Form::Prepared(statement) => session.execute(statement).await?,
            Form::Written { query, .. } => session.run(query).await?,
        };
        self.asker.queries += 1;
        Ok(answer)
    }

    /// Sends it, and makes sure that it writes as many rows as it must of `what` with this key.
    pub(super) async fn write(&mut self, what: &str, key: &[i64], rows: u64) -> Result<(), Trouble> {
        match self.send().await?.affected_rows {
            written if written == rows => Ok(()),
            written => Err(Trouble::Failed(Failure::Error(format!(
                "{what} {key:?}: {written} rows were written; expected {rows}: was the table changed?"
            )))),
        }
    }

    /// Sends it, and hands over its rows, of which the columns `read` are read.
    pub(super) async fn fetch(
        &mut self,
        read: u32,
        mut on_row: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<ResultSummary, Trouble> {
        self.ask.is_right()?;
        let Asker { session, cells, .. } = &mut *self.asker;
        let (columns, are_cells) = (&self.ask.results, self.ask.cells);
        // The first thing that is wrong is kept; the rows after it are still read.
        let mut right = Ok(());
        let take = |values: &[Value<'_>]| {
            if right.is_ok() {
                right = take_row(columns, are_cells, read, cells, values, &mut on_row);
            }
            Ok(())
        };
        let answer = match &mut self.ask.form {
            Form::Prepared(statement) => session.execute_values(statement, take).await?,
            Form::Written { query, .. } => session.run_values(query, take).await?,
        };
        right?;
        self.asker.queries += 1;
        Ok(answer)
    }

    /// Sends it, and reads the one row that there must be: `what` with this key.
    pub(super) async fn fetch_one<T>(
        &mut self,
        what: &str,
        key: &[i64],
        read: impl Fn(Row<'_>) -> Result<T>,
    ) -> Result<T, Trouble> {
        let mut found = None;
        let fetched = self.fetch(ALL, |row| {
            found = Some(read(row)?);
            Ok(())
        });
        let answer = fetched.await?;
        match found {
            Some(found) if answer.rows == 1 => Ok(found),
            _ => Err(missing(what, key).into()),
        }
    }

    pub(super) fn integer(&mut self, value: i64) -> &mut Self {
        let slot = self.ask.parameters[self.next];
        match &mut self.ask.form {
            Form::Prepared(statement) if !slot.is_cell => {
                statement.set_integer(self.next, value);
                self.next += 1;
            }
            _ => self.put(Digits::signed(value, 0).as_bytes()),
        }
        self
    }

    pub(super) fn integers(&mut self, values: &[i64]) -> &mut Self {
        for value in values {
            self.integer(*value);
        }
        self
    }

    pub(super) fn cents(&mut self, value: i64) -> &mut Self {
        self.put(Digits::signed(value, CENTS).as_bytes());
        self
    }

    /// Text, or a date.
    pub(super) fn text(&mut self, value: &[u8]) -> &mut Self {
        self.put(value);
        self
    }

    fn put(&mut self, plaintext: &[u8]) {
        let Slot { column, is_cell } = self.ask.parameters[self.next];
        let put = match is_cell {
            false => self.ask.form.put(self.next, plaintext, Put::of(column.kind)),
            true => {
                let put = if self.asker.cells.are_text() {
                    Put::Text
                } else {
                    Put::Bytes
                };
                let form = &mut self.ask.form;
                let cell = self.asker.cells.encrypt(column, plaintext);
                cell.and_then(|cell| form.put(self.next, cell, put))
            }
        };
        if let Err(failure) = put {
            let failure = wrong(column, failure.message());
            self.ask.wrong.get_or_insert(failure);
        }
        self.next += 1;
    }
}

/// How a value stands in a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Number,
    Text,
    Bytes,
}

impl Put {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Integer | Kind::Decimal => Self::Number,
            Kind::Text | Kind::Date => Self::Text,
        }
    }
}

impl<S: SqlSession> Form<S> {
    fn put(&mut self, index: usize, value: &[u8], put: Put) -> Result<()> {
        match self {
            Self::Prepared(statement) => statement.set_text(index, value).map_err(failure),
            Self::Written { pieces, query } => {
                match put {
                    Put::Number => query.push(value),
                    Put::Text => push_quoted(query, value, S::DIALECT.backslash),
                    Put::Bytes => push_bytes(query, value, S::DIALECT.around_bytes),
                }
                query.push(&pieces[index + 1]);
                Ok(())
            }
        }
    }
}

/// Appends text in its quotes.
fn push_quoted(query: &mut Query, text: &[u8], backslash: &str) {
    query.push(b"'");
    for part in text.split_inclusive(|byte| matches!(byte, b'\'' | b'\\')) {
        match part {
            [before @ .., b'\''] => {
                query.push(before);
                query.push(b"''");
            }
            [before @ .., b'\\'] => {
                query.push(before);
                query.push(backslash.as_bytes());
            }
            part => query.push(part),
        }
    }
    query.push(b"'");
}

fn push_bytes(query: &mut Query, bytes: &[u8], [before, after]: [&str; 2]) {
    query.push(before.as_bytes());
    for (byte, digits) in bytes
        .iter()
        .zip(query.push_blank(2 * bytes.len()).chunks_exact_mut(2))
    {
        digits.copy_from_slice(&hexadecimal(*byte));
    }
    query.push(after.as_bytes());
}

impl Slot {
    fn parameter(self) -> Parameter {
        match self.column.kind {
            Kind::Integer if !self.is_cell => Parameter::Integer,
            _ => Parameter::VariableText,
        }
    }
}
