//! A database that says yes to everything and keeps what it was asked, in two dialects.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use ciphertax_base::{AuthenticationFacts, ConnectTrace};
use ciphertax_columns::encdb::Derivation;
use ciphertax_engine::{Engine, EngineError, Result};
use ciphertax_model::Transport;
use ciphertax_model::workload::Vocabulary;
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Expectation, Session, WireError};

use super::Dialect;
use super::session::{
    Parameter, Query, ResultSummary, SqlSession, Statement, TextRow, Value as ReceivedValue,
};
use crate::driver::{Access, Job};

pub(super) const MYSQL: Dialect = ciphertax_wire::mysql::Session::DIALECT;
pub(super) const POSTGRESQL: Dialect = ciphertax_wire::postgresql::Session::DIALECT;

/// The code of an error after which an operation is begun anew: ER_LOCK_DEADLOCK.
const RESTART: u16 = 1213;
/// The code of the refusal to prepare: ER_UNSUPPORTED_PS.
const UNPREPARABLE: u16 = 1295;

/// Columns of every row that is asked by text, all of which are 1.
const COLUMNS: usize = 8;

/// What a database was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Prepare(String),
    Execute(String, Vec<Value>),
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Integer(i64),
    Text(String),
}

/// The database, with its dialect.
#[derive(Clone)]
pub(super) struct Mock<const POSTGRES: bool> {
    server: Arc<Mutex<Server>>,
}

#[derive(Default)]
struct Server {
    asked: Vec<Asked>,
    /// The numbers of the executions, from 1, that are given up for the sake of another session.
    given_up: Vec<usize>,
    executed: usize,
    /// What it answers, where one row is no answer.
    answers: Option<Answers>,
    derivation: Derivation,
}

/// Answers what a database is asked.
pub(super) type Answers = Box<dyn Fn(&Asked) -> Rows + Send>;

/// Rows of a result, or how many were written.
pub(super) enum Rows {
    Read(Vec<Vec<Value>>),
    Written(u64),
}

impl<const POSTGRES: bool> Mock<POSTGRES> {
    pub(super) fn new() -> Self {
        Self::giving_up(&[])
    }

    /// Gives up on the executions of these numbers, counted from 1.
    pub(super) fn giving_up(given_up: &[usize]) -> Self {
        let server = Server {
            given_up: given_up.to_vec(),
            ..Server::default()
        };
        Self {
            server: Arc::new(Mutex::new(server)),
        }
    }

    /// Answers with what there is for each question from now on.
    pub(super) fn answers(&self, answers: Answers) {
        self.server.lock().unwrap().answers = Some(answers);
    }

    /// Says that data keys of cells are derived so.
    pub(super) fn derives(&self, derivation: Derivation) {
        self.server.lock().unwrap().derivation = derivation;
    }

    /// What was asked since this was called last.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.server.lock().unwrap().asked)
    }
}

impl<const POSTGRES: bool> Access for Mock<POSTGRES> {
    type Session = MockSession<POSTGRES>;

    const NAME: &'static str = "a mock";

    const VOCABULARIES: &'static [Vocabulary] = &[];

    fn options(&self) -> &Self {
        self
    }

    fn expectation(&self) -> &Expectation {
        const PLAIN: &Expectation = &Expectation {
            transport: Transport::Plain,
            cipher: None,
            group: None,
            resumed: false,
            login: None,
            is_said_by_server: None,
        };
        PLAIN
    }

    fn derivation(&self) -> Derivation {
        self.server.lock().unwrap().derivation
    }

    async fn open(&self, _reactor: &Rc<Reactor>, _slot: u32) -> Result<MockSession<POSTGRES>> {
        Ok(self.session())
    }

    fn start(_job: &Job<'_>, _arms: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        Ok(None)
    }
}

impl<const POSTGRES: bool> Mock<POSTGRES> {
    pub(super) fn session(&self) -> MockSession<POSTGRES> {
        MockSession {
            database: self.clone(),
            authentication: AuthenticationFacts {
                method: "none".into(),
                path: ciphertax_base::LoginPath::Single,
            },
        }
    }
}

pub(super) struct MockSession<const POSTGRES: bool> {
    database: Mock<POSTGRES>,
    authentication: AuthenticationFacts,
}

impl<const POSTGRES: bool> MockSession<POSTGRES> {
    fn ask(&mut self, asked: Asked) {
        self.database.server.lock().unwrap().asked.push(asked);
    }

    /// Of an execution or a text: one row, or as many as were inserted.
    fn answer(&mut self, asked: Asked) -> Result<ResultSummary, WireError> {
        self.answer_rows(asked, |_| Ok(()))
    }

    fn answer_rows(
        &mut self,
        asked: Asked,
        mut on_row: impl FnMut(&[ReceivedValue<'_>]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        let affected_rows = match &asked {
            Asked::Text(text) => 1 + text.matches("),(").count() as u64,
            Asked::Prepare(_) | Asked::Execute(..) => 1,
        };
        self.ask(asked.clone());
        let mut server = self.database.server.lock().unwrap();
        server.executed += 1;
        if server.given_up.contains(&server.executed) {
            return Err(refusal(RESTART));
        }
        match server.answers.as_ref().map(|answers| answers(&asked)) {
            None => {}
            Some(Rows::Written(affected_rows)) => {
                return Ok(ResultSummary {
                    affected_rows,
                    ..ResultSummary::default()
                });
            }
            Some(Rows::Read(rows)) => {
                for row in &rows {
                    let received = |value| match value {
                        &Value::Integer(value) => ReceivedValue::Integer(value),
                        Value::Text(text) => ReceivedValue::Text(text.as_bytes()),
                    };
                    let values: Vec<ReceivedValue<'_>> = row.iter().map(received).collect();
                    on_row(&values)?;
                }
                return Ok(ResultSummary {
                    rows: rows.len() as u64,
                    ..ResultSummary::default()
                });
            }
        }
        Ok(ResultSummary {
            rows: 1,
            row_bytes: 1,
            affected_rows,
        })
    }
}

fn refusal(code: u16) -> WireError {
    WireError::Server {
        code,
        sql_state: "HY000".into(),
        message: "no".into(),
    }
}

impl<const POSTGRES: bool> Session for MockSession<POSTGRES> {
    type Options = Mock<POSTGRES>;

    async fn connect(
        _reactor: &Rc<Reactor>,
        options: &Mock<POSTGRES>,
    ) -> Result<(Self, ConnectTrace), WireError> {
        Ok((options.session(), ConnectTrace::default()))
    }

    fn authentication(&self) -> &AuthenticationFacts {
        &self.authentication
    }
}

impl<const POSTGRES: bool> SqlSession for MockSession<POSTGRES> {
    type Statement = MockStatement;

    const DIALECT: Dialect = if POSTGRES { POSTGRESQL } else { MYSQL };

    fn within(options: &Mock<POSTGRES>, _schema: Option<&str>) -> Mock<POSTGRES> {
        options.clone()
    }

    /// As old servers, of transactions' statements this one prepares COMMIT alone.
    async fn prepare(&mut self, sql: &str, parameters: &[Parameter]) -> Result<MockStatement, WireError> {
        if sql == "BEGIN" {
            return Err(refusal(UNPREPARABLE));
        }
        self.ask(Asked::Prepare(sql.to_owned()));
        let blank = |parameter: &Parameter| match parameter {
            Parameter::Integer => Slot::Integer(0),
            Parameter::Text(length) => Slot::Text(vec![b' '; *length]),
            Parameter::VariableText => Slot::Text(Vec::new()),
        };
        Ok(MockStatement {
            sql: sql.to_owned(),
            values: parameters.iter().map(blank).collect(),
        })
    }

    async fn execute_rows(
        &mut self,
        statement: &mut MockStatement,
        _on_row: impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        self.answer(statement.asked())
    }

    fn texts(
        _row: &[u8],
        _columns: usize,
    ) -> Result<impl Iterator<Item = Result<&[u8], WireError>>, WireError> {
        Ok(std::iter::empty())
    }

    async fn run(&mut self, query: &mut Query) -> Result<ResultSummary, WireError> {
        self.answer(Asked::Text(text_of(query)))
    }

    async fn execute_values(
        &mut self,
        statement: &mut Self::Statement,
        on_row: impl FnMut(&[ReceivedValue<'_>]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        self.answer_rows(statement.asked(), on_row)
    }

    async fn run_values(
        &mut self,
        query: &mut Query,
        on_row: impl FnMut(&[ReceivedValue<'_>]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        self.answer_rows(Asked::Text(text_of(query)), on_row)
    }

    async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, WireError> {
        self.ask(Asked::Text(sql.to_owned()));
        Ok(vec![TextRow::new(vec![Some(b"1".to_vec()); COLUMNS])])
    }
}

fn text_of(query: &Query) -> String {
    String::from_utf8(query.text().to_vec()).unwrap()
}

pub(super) struct MockStatement {
    sql: String,
    values: Vec<Slot>,
}

enum Slot {
    Integer(i64),
    Text(Vec<u8>),
}

impl MockStatement {
    fn asked(&self) -> Asked {
        let value = |slot: &Slot| match slot {
            Slot::Integer(value) => Value::Integer(*value),
            Slot::Text(bytes) => Value::Text(String::from_utf8(bytes.clone()).unwrap()),
        };
        Asked::Execute(self.sql.clone(), self.values.iter().map(value).collect())
    }
}

impl Statement for MockStatement {
    fn set_integer(&mut self, index: usize, value: i64) {
        match &mut self.values[index] {
            Slot::Integer(slot) => *slot = value,
            Slot::Text(_) => panic!("parameter {index} of {} is text", self.sql),
        }
    }

    fn text_mut(&mut self, index: usize) -> &mut [u8] {
        match &mut self.values[index] {
            Slot::Text(bytes) => bytes,
            Slot::Integer(_) => panic!("parameter {index} of {} is an integer", self.sql),
        }
    }

    fn set_text(&mut self, index: usize, text: &[u8]) -> Result<(), WireError> {
        self.values[index] = Slot::Text(text.to_vec());
        Ok(())
    }
}
