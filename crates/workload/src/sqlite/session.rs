//! SQLite's sessions as SQL workloads use them. Nothing is waited for but SQLite itself.

use ciphertax_wire::WireError;
use ciphertax_wire::sqlite::{self, ConnectOptions, TextRow, Texts};

use super::dialect::DIALECT;
use crate::sql::{Answer, DataSession, Dialect, Parameter, Query, Row, SqlSession, Statement, Value};

impl SqlSession for sqlite::Session {
    type Statement = sqlite::Statement;
    type Query = sqlite::Query;
    type Row = TextRow;

    const DIALECT: Dialect = DIALECT;

    fn is_to_be_restarted(error: &WireError) -> bool {
        sqlite::is_overtaken(error)
    }

    /// Everything can be prepared.
    fn is_not_preparable(_error: &WireError) -> bool {
        false
    }

    async fn prepare(&mut self, sql: &str, parameters: &[Parameter]) -> Result<sqlite::Statement, WireError> {
        let parameters: Vec<sqlite::Parameter> =
            parameters.iter().map(|parameter| (*parameter).into()).collect();
        sqlite::Session::prepare(self, sql, &parameters)
    }

    async fn execute(&mut self, statement: &mut sqlite::Statement) -> Result<Answer, WireError> {
        sqlite::Session::execute(self, statement).map(Answer::from)
    }

    async fn run(&mut self, query: &mut sqlite::Query) -> Result<Answer, WireError> {
        sqlite::Session::run(self, query).map(Answer::from)
    }

    async fn execute_values(
        &mut self,
        statement: &mut sqlite::Statement,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> Result<Answer, WireError> {
        sqlite::Session::execute_values(self, statement, on_row).map(Answer::from)
    }

    async fn run_values(
        &mut self,
        query: &mut sqlite::Query,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> Result<Answer, WireError> {
        sqlite::Session::run_values(self, query, on_row).map(Answer::from)
    }

    async fn command(&mut self, sql: &str) -> Result<Answer, WireError> {
        sqlite::Session::command(self, sql).map(Answer::from)
    }

    async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, WireError> {
        sqlite::Session::query(self, sql)
    }
}

impl DataSession for sqlite::Session {
    type Rows = sqlite::Query;

    /// A file has one schema.
    fn within(options: &ConnectOptions, _schema: Option<&str>) -> ConnectOptions {
        options.clone()
    }

    /// There is no server that would know it.
    fn id(&self) -> u32 {
        0
    }

    fn is_duplicate(error: &WireError) -> bool {
        sqlite::is_duplicate(error)
    }

    async fn load(&mut self, rows: &mut sqlite::Query) -> Result<u64, WireError> {
        Ok(sqlite::Session::run(self, rows)?.affected_rows)
    }

    fn that_loads(options: &ConnectOptions) -> ConnectOptions {
        options.clone()
    }

    /// There is no such statement.
    async fn load_lines(&mut self, _table_and_columns: &str, _lines: &[u8]) -> Result<u64, WireError> {
        Err(WireError::Request("SQLite loads no lines".into()))
    }

    fn takes_no_lines(error: &WireError) -> bool {
        matches!(error, WireError::Request(_))
    }

    async fn execute_rows(
        &mut self,
        statement: &mut sqlite::Statement,
        on_row: impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<Answer, WireError> {
        sqlite::Session::execute_rows(self, statement, on_row).map(Answer::from)
    }

    fn texts(
        row: &[u8],
        _columns: usize,
    ) -> Result<impl Iterator<Item = Result<&[u8], WireError>>, WireError> {
        Ok(Texts::of(row))
    }
}

impl Statement for sqlite::Statement {
    fn set_integer(&mut self, index: usize, value: i64) {
        self.set_integer(index, value);
    }

    fn text_mut(&mut self, index: usize) -> &mut [u8] {
        self.text_mut(index)
    }

    fn set_text(&mut self, index: usize, text: &[u8]) -> Result<(), WireError> {
        self.set_text(index, text)
    }
}

impl Query for sqlite::Query {
    fn new(text: &str) -> Self {
        Self::new(text)
    }

    fn length(&self) -> usize {
        self.len()
    }

    fn truncate(&mut self, length: usize) {
        self.truncate(length);
    }

    fn push(&mut self, text: &[u8]) {
        self.push(text);
    }

    fn push_blank(&mut self, length: usize) -> &mut [u8] {
        self.push_blank(length)
    }
}

impl Row for TextRow {
    fn text(&self, column: usize) -> String {
        self.text(column)
    }
}

impl From<Parameter> for sqlite::Parameter {
    fn from(parameter: Parameter) -> Self {
        match parameter {
            Parameter::Integer => Self::Integer,
            Parameter::Text(length) => Self::Text(length),
            Parameter::VariableText => Self::VariableText,
        }
    }
}
