//! PostgreSQL's sessions: that they are what their arm says, and how they spell things.

use std::rc::Rc;

use ciphertax_engine::{Engine, EngineError, Failure};
use ciphertax_model::workload::Vocabulary;
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{self, ConnectOptions, Expectation, Session};
use ciphertax_wire::{Client as _, Session as _, WireError};

use crate::dataset::DatasetError;
use crate::driver::{Access, Job, failure};
use crate::sql::dialect::{TRUNCATE, standard_tables};
use crate::sql::session::Statements;
use crate::sql::{
    self, BytesInLines, Columns, Dialect, Loading, Placeholders, Query, SqlSession, Transactions,
};

const UNIQUE_VIOLATION: &str = "23505";
/// States after which sysbench begins a transaction anew (`drv_pgsql.c`): serialization_failure, deadlock_detected, and
/// unique_violation, which a transaction meets that puts back a row another has just put back.
const BEGIN_ANEW: [&str; 3] = ["40001", "40P01", UNIQUE_VIOLATION];

impl SqlSession for postgresql::Session {
    const DIALECT: Dialect = DIALECT;

    fn is_to_be_restarted(error: &WireError) -> bool {
        is_one_of(error, &BEGIN_ANEW)
    }

    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            schema: schema.map(str::to_owned),
            ..options.clone()
        }
    }

    fn is_duplicate(error: &WireError) -> bool {
        is_one_of(error, &[UNIQUE_VIOLATION])
    }

    /// The statement ends with its line.
    async fn load(&mut self, rows: &mut Query) -> Result<u64, WireError> {
        let text = rows.text();
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let (statement, lines) = text.split_at(end);
        let statement = String::from_utf8_lossy(statement);
        copy(self, &statement, lines.get(1..).unwrap_or_default()).await
    }

    async fn load_lines(&mut self, table_and_columns: &str, lines: &[u8]) -> Result<u64, WireError> {
        copy(self, &format!("COPY {table_and_columns} FROM STDIN"), lines).await
    }
}

async fn copy(session: &mut postgresql::Session, statement: &str, lines: &[u8]) -> Result<u64, WireError> {
    let mut copy = session.copy_in(statement).await?;
    copy.write(lines).await?;
    copy.finish().await
}

fn is_one_of(error: &WireError, states: &[&str]) -> bool {
    matches!(error, WireError::PostgreSql { sql_state, .. } if states.contains(&&**sql_state))
}

/// How an arm reaches its server, and what every session must then be.
#[derive(Clone)]
pub struct PostgresqlAccess {
    /// How to connect.
    pub options: ConnectOptions,
    /// What every session must be.
    pub expectation: Expectation,
    /// Connections that may be opened at a time: where SCRAM's keys are kept, they are there before the first.
    pub connections: usize,
    /// The server behind a pooler knows nothing of the client's session.
    pub is_pooled: bool,
    /// How the server encrypts the fields of YCSB's table; `None` for plain ones.
    pub columns: Option<Columns>,
}

impl Access for PostgresqlAccess {
    type Session = Session;

    const NAME: &'static str = "PostgreSQL";

    const VOCABULARIES: &'static [Vocabulary] = &sql::VOCABULARIES;

    fn options(&self) -> &ConnectOptions {
        &self.options
    }

    fn expectation(&self) -> &Expectation {
        &self.expectation
    }

    async fn open(&self, reactor: &Rc<Reactor>, _slot: u32) -> Result<Session, Failure> {
        Session::warm_up(reactor, &self.options, self.connections)
            .await
            .map_err(failure)?;
        let (mut session, _) = Session::connect(reactor, &self.options).await.map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        if !self.is_pooled {
            let word = session.check_by_server(&self.options, &self.expectation).await;
            word.map_err(failure)?.map_err(Failure::FactsDiffer)?;
        }
        Ok(session)
    }

    fn start(job: &Job<'_>, arms: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        let connections = job.cell.load.connections as usize;
        let arms = arms.into_iter().map(|access| Self {
            connections,
            ..access
        });
        sql::start(job, &arms.collect::<Vec<_>>(), |access| access.columns)
    }
}

/// As sysbench spells it for PostgreSQL, where sysbench does.
pub(crate) const DIALECT: Dialect = Dialect {
    placeholders: Placeholders::Numbered,
    quote: '"',
    identity: "SERIAL",
    next_identity: None,
    last_identity: "lastval()",
    continue_identity: Some(|table, last| format!("SELECT setval('{table}_id_seq', {last})")),
    storage: "",
    bytes: "BYTEA",
    around_bytes: ["'\\x", "'"],
    bytes_in_lines: BytesInLines::Hexadecimal,
    text: |_| "TEXT",
    // The order of a database's own language may be another, and is slower.
    bytewise: " COLLATE \"C\"",
    bytewise_ascii: " COLLATE \"C\"",
    short_bytes: |_| "BYTEA".to_owned(),
    date: "TIMESTAMP(0)",
    loading: Loading::Copy,
    vacuum: Some("VACUUM ANALYZE "),
    analyze: "VACUUM ANALYZE ",
    derive_once: None,
    begin_to_write: "BEGIN",
    end: "END",
    empty: TRUNCATE,
    primary_key: |table| format!("{table}_pkey"),
    index_columns,
    tables: standard_tables,
    // The information schema shows only what the account has rights to.
    schema: |schema| format!("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '{schema}'"),
    other_objects,
    must_stay: Some(must_stay),
    with_contents: " CASCADE",
    for_update: " FOR UPDATE",
    before_rows: "",
    backslash: r"\",
    transactions: Transactions::Begun,
};

fn index_columns(schema: &str, table: &str, index: &str) -> String {
    format!(
        "SELECT attribute.attname FROM pg_catalog.pg_index AS entry \
         JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.indrelid \
         JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace \
         JOIN pg_catalog.pg_class AS index ON index.oid = entry.indexrelid \
         JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = index.oid \
         WHERE namespace.nspname = '{schema}' AND relation.relname = '{table}' AND index.relname = '{index}' \
         AND entry.indisvalid ORDER BY attribute.attnum"
    )
}

/// Whatever is in the schema is said to depend on it.
fn other_objects(schema: &str) -> Vec<String> {
    vec![format!(
        "SELECT 1 FROM pg_catalog.pg_depend WHERE refclassid = 'pg_catalog.pg_namespace'::regclass \
         AND refobjid = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '{schema}') LIMIT 1"
    )]
}

/// A schema that somebody else made for the account, or that it made when it still had the right to.
fn must_stay(schema: &str) -> String {
    format!(
        "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '{schema}' \
         AND NOT (pg_catalog.pg_has_role(nspowner, 'USAGE') \
         AND pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'))"
    )
}

/// Ends sessions that load, so that nobody waits for their last statement: the server does not notice that nobody waits
/// for it. Of these numbers only those are ended that are the account's own, in this database, by the name of this session:
/// a number may be a session of somebody else's by now.
///
/// # Errors
/// When the server refuses.
pub async fn end_sessions(session: &mut Session, numbers: &[u32]) -> Result<(), DatasetError> {
    if numbers.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let end = format!(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
         WHERE usename = current_user AND datname = pg_catalog.current_database() \
         AND application_name = pg_catalog.current_setting('application_name') AND pid IN ({})",
        numbers.join(", ")
    );
    session.command(&end).await?;
    Ok(())
}
