//! Prepared statements, their values and their rows.

use std::mem;
use std::rc::Rc;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row};

use super::session::refused;
use crate::error::{Result, WireError};
use crate::sql::{self, Parameter, ResultSummary, wrong_number};
use crate::value::check_variable_text;

/// Room that is made at first for a text of varying length, in bytes.
const SHORT: usize = 250;

/// A prepared statement of one session. Values are kept where they are bound from, so that executing it again allocates
/// nothing.
pub struct Statement {
    // Goes before the connection that it belongs to.
    statement: rusqlite::Statement<'static>,
    connection: Rc<Connection>,
    values: Vec<Value>,
}

enum Value {
    Integer(i64),
    Text(Vec<u8>),
}

impl Statement {
    pub(super) fn new(connection: &Rc<Connection>, sql: &str, parameters: &[Parameter]) -> Result<Self> {
        let statement = connection.prepare(sql).map_err(refused)?;
        if statement.parameter_count() != parameters.len() {
            return Err(wrong_number(statement.parameter_count(), parameters.len()));
        }
        // SAFETY: it borrows the connection, which does not move inside of its `Rc`, is kept alive by the one beside it, and
        // goes after it.
        let statement =
            unsafe { mem::transmute::<rusqlite::Statement<'_>, rusqlite::Statement<'static>>(statement) };
        Ok(Self {
            statement,
            connection: Rc::clone(connection),
            values: parameters.iter().map(|parameter| (*parameter).into()).collect(),
        })
    }

    /// Hands over each row with the number of its columns.
    pub(super) fn execute_with(
        &mut self,
        on_row: impl FnMut(&Row<'_>, usize) -> Result<()>,
    ) -> Result<ResultSummary> {
        for (place, value) in (1..).zip(&self.values) {
            self.statement.raw_bind_parameter(place, value).map_err(refused)?;
        }
        summed_up(&self.connection, &mut self.statement, on_row)
    }
}

impl sql::Statement for Statement {
    fn set_integer(&mut self, index: usize, value: i64) {
        self.values[index] = Value::Integer(value);
    }

    fn text_mut(&mut self, index: usize) -> &mut [u8] {
        match &mut self.values[index] {
            Value::Text(text) => text,
            Value::Integer(_) => &mut [],
        }
    }

    fn set_text(&mut self, index: usize, text: &[u8]) -> Result<()> {
        check_variable_text(text.len())?;
        match &mut self.values[index] {
            Value::Text(buffer) => {
                buffer.clear();
                buffer.extend_from_slice(text);
                Ok(())
            }
            Value::Integer(_) => Err(WireError::Request(format!("parameter {index} is an integer"))),
        }
    }
}

/// Steps through all rows of a statement whose parameters are bound, and adds up what they hold.
pub(super) fn summed_up(
    connection: &Connection,
    statement: &mut rusqlite::Statement<'_>,
    mut on_row: impl FnMut(&Row<'_>, usize) -> Result<()>,
) -> Result<ResultSummary> {
    let (columns, writes) = (statement.column_count(), !statement.readonly());
    let mut summary = ResultSummary::default();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(refused)? {
        summary.rows += 1;
        for column in 0..columns {
            summary.row_bytes += bytes_of(row.get_ref(column).map_err(refused)?) as u64;
        }
        on_row(row, columns)?;
    }
    if writes {
        summary.affected_rows = connection.changes();
    }
    Ok(summary)
}

fn bytes_of(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null => 0,
        ValueRef::Integer(_) | ValueRef::Real(_) => 8,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
    }
}

impl From<Parameter> for Value {
    fn from(parameter: Parameter) -> Self {
        match parameter {
            Parameter::Integer => Self::Integer(0),
            Parameter::Text(length) => Self::Text(vec![b' '; length]),
            Parameter::VariableText => Self::Text(Vec::with_capacity(SHORT)),
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Text(text) => ValueRef::Text(text),
        }))
    }
}
