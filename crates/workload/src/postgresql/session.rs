//! PostgreSQL's sessions as SQL workloads use them.

use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::{self, ConnectOptions, TextRow, Values};

use super::copy::CopyRows;
use super::dialect::DIALECT;
use crate::sql::{Answer, DataSession, Dialect, Parameter, Query, Row, SqlSession, Statement, Value};

const UNIQUE_VIOLATION: &str = "23505";
/// States after which sysbench begins a transaction anew (`drv_pgsql.c`): serialization_failure, deadlock_detected, and
/// unique_violation, which a transaction meets that puts back a row another has just put back.
const BEGIN_ANEW: [&str; 3] = ["40001", "40P01", UNIQUE_VIOLATION];

impl SqlSession for postgresql::Session {
    type Statement = postgresql::Statement;
    type Query = postgresql::Query;
    type Row = TextRow;

    const DIALECT: Dialect = DIALECT;

    fn is_to_be_restarted(error: &WireError) -> bool {
        is_one_of(error, &BEGIN_ANEW)
    }

    /// Everything can be prepared.
    fn is_not_preparable(_error: &WireError) -> bool {
        false
    }

    async fn prepare(
        &mut self,
        sql: &str,
        parameters: &[Parameter],
    ) -> Result<postgresql::Statement, WireError> {
        let parameters: Vec<postgresql::Parameter> =
            parameters.iter().map(|parameter| (*parameter).into()).collect();
        self.prepare_with(sql, &parameters).await
    }

    async fn execute(&mut self, statement: &mut postgresql::Statement) -> Result<Answer, WireError> {
        self.execute_bound(statement).await.map(Answer::from)
    }

    async fn run(&mut self, query: &mut postgresql::Query) -> Result<Answer, WireError> {
        postgresql::Session::run(self, query).await.map(Answer::from)
    }

    async fn execute_values(
        &mut self,
        statement: &mut postgresql::Statement,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> Result<Answer, WireError> {
        postgresql::Session::execute_values(self, statement, on_row)
            .await
            .map(Answer::from)
    }

    async fn run_values(
        &mut self,
        query: &mut postgresql::Query,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> Result<Answer, WireError> {
        postgresql::Session::run_values(self, query, on_row)
            .await
            .map(Answer::from)
    }

    async fn command(&mut self, sql: &str) -> Result<Answer, WireError> {
        self.query_raw(sql, |_| Ok(())).await.map(Answer::from)
    }

    fn query(&mut self, sql: &str) -> impl Future<Output = Result<Vec<TextRow>, WireError>> {
        postgresql::Session::query(self, sql)
    }
}

impl DataSession for postgresql::Session {
    type Rows = CopyRows;

    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            schema: schema.map(str::to_owned),
            ..options.clone()
        }
    }

    fn id(&self) -> u32 {
        self.id()
    }

    fn is_duplicate(error: &WireError) -> bool {
        is_one_of(error, &[UNIQUE_VIOLATION])
    }

    async fn load(&mut self, rows: &mut CopyRows) -> Result<u64, WireError> {
        let mut copy = self.copy_in(rows.statement()).await?;
        copy.write(rows.lines()).await?;
        copy.finish().await
    }

    fn that_loads(options: &ConnectOptions) -> ConnectOptions {
        options.clone()
    }

    async fn load_lines(&mut self, table_and_columns: &str, lines: &[u8]) -> Result<u64, WireError> {
        let mut copy = self
            .copy_in(&format!("COPY {table_and_columns} FROM STDIN"))
            .await?;
        copy.write(lines).await?;
        copy.finish().await
    }

    fn takes_no_lines(_error: &WireError) -> bool {
        false
    }

    async fn execute_rows(
        &mut self,
        statement: &mut postgresql::Statement,
        on_row: impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<Answer, WireError> {
        self.execute_raw(statement, on_row).await.map(Answer::from)
    }

    fn texts(
        row: &[u8],
        _columns: usize,
    ) -> Result<impl Iterator<Item = Result<&[u8], WireError>>, WireError> {
        Ok(Values::of(row)?.map(|value| Ok(value?.unwrap_or_default())))
    }
}

fn is_one_of(error: &WireError, states: &[&str]) -> bool {
    matches!(error, WireError::PostgreSql { sql_state, .. } if states.contains(&&**sql_state))
}

impl Statement for postgresql::Statement {
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

impl Query for postgresql::Query {
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

impl From<Parameter> for postgresql::Parameter {
    fn from(parameter: Parameter) -> Self {
        match parameter {
            Parameter::Integer => Self::Integer,
            Parameter::Text(length) => Self::Text(length),
            Parameter::VariableText => Self::VariableText,
        }
    }
}
