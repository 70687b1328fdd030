//! MySQL's sessions as SQL workloads use them.

use std::future::Future;

use ciphertax_model::YcsbTable;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{self, ConnectOptions, ResultSummary, TextRow};

use super::records::MysqlLoader;
use crate::sql::{Answer, DataSession, Dialect, Parameter, Placeholders, Query, Row, SqlSession, Statement};
use crate::ycsb::Table;

/// How MySQL and the servers compatible with it spell things.
pub(crate) const DIALECT: Dialect = Dialect {
    placeholders: Placeholders::QuestionMarks,
    quote: '`',
    identity: "INTEGER NOT NULL AUTO_INCREMENT",
    next_identity: Some("0"),
    last_identity: "LAST_INSERT_ID()",
    storage: " /*! ENGINE = innodb */",
    bytes: "MEDIUMBLOB",
    around_bytes: ["X'", "'"],
    around_replace: ["REPLACE INTO ", ""],
    index_columns,
};

fn index_columns(schema: &str, table: &str, index: &str) -> String {
    format!(
        "SELECT column_name FROM information_schema.statistics WHERE table_schema = '{schema}' \
         AND table_name = '{table}' AND index_name = '{index}'"
    )
}

/// Errors after which sysbench begins a transaction anew (`--mysql-ignore-errors`): ER_CHECKREAD,
/// ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK.
const BEGIN_ANEW: [u16; 3] = [1020, 1205, 1213];
const ER_UNSUPPORTED_PS: u16 = 1295;

impl SqlSession for mysql::Session {
    type Statement = mysql::Statement;
    type Query = mysql::Query;
    type Row = TextRow;

    const DIALECT: Dialect = DIALECT;

    fn is_to_be_restarted(error: &WireError) -> bool {
        matches!(error, WireError::Server { code, .. } if BEGIN_ANEW.contains(code))
    }

    fn is_not_preparable(error: &WireError) -> bool {
        matches!(
            error,
            WireError::Server {
                code: ER_UNSUPPORTED_PS,
                ..
            }
        )
    }

    async fn prepare(&mut self, sql: &str, parameters: &[Parameter]) -> Result<mysql::Statement, WireError> {
        let parameters: Vec<mysql::Parameter> =
            parameters.iter().map(|parameter| (*parameter).into()).collect();
        self.prepare_with(sql, &parameters).await
    }

    async fn execute(&mut self, statement: &mut mysql::Statement) -> Result<Answer, WireError> {
        self.execute_bound(statement).await.map(Answer::from)
    }

    async fn run(&mut self, query: &mut mysql::Query) -> Result<Answer, WireError> {
        mysql::Session::run(self, query).await.map(Answer::from)
    }

    async fn command(&mut self, sql: &str) -> Result<Answer, WireError> {
        self.query_raw(sql, |_| Ok(())).await.map(Answer::from)
    }

    fn query(&mut self, sql: &str) -> impl Future<Output = Result<Vec<TextRow>, WireError>> {
        mysql::Session::query(self, sql)
    }
}

impl DataSession for mysql::Session {
    type Loader = MysqlLoader;

    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            database: schema.map(str::to_owned),
            ..options.clone()
        }
    }

    fn id(&self) -> u32 {
        self.id()
    }

    fn into_loader(self, table: Table, shape: &YcsbTable) -> MysqlLoader {
        MysqlLoader::new(self, table, shape)
    }
}

impl Statement for mysql::Statement {
    fn set_integer(&mut self, index: usize, value: i64) {
        self.set_integer(index, value);
    }

    fn text_mut(&mut self, index: usize) -> &mut [u8] {
        self.text_mut(index)
    }
}

impl Query for mysql::Query {
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

impl From<Parameter> for mysql::Parameter {
    fn from(parameter: Parameter) -> Self {
        match parameter {
            Parameter::Integer => Self::Integer,
            Parameter::Text(length) => Self::Text(length),
        }
    }
}

impl From<ResultSummary> for Answer {
    fn from(summary: ResultSummary) -> Self {
        Self {
            rows: summary.rows,
            row_bytes: summary.row_bytes,
            affected_rows: summary.affected_rows,
        }
    }
}
