//! What is PostgreSQL's alone, and that of the servers compatible with it: sessions that are what their arm says, and what they
//! leave.

use std::rc::Rc;

use ciphertax_engine::{Engine, EngineError, Failure};
use ciphertax_model::workload::Vocabulary;
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Client as _, Session as _, WireError, Word};

use crate::dataset::{Result, SCHEMA, mark};
use crate::driver::{Access, Job, failure};
use crate::sql::{self, Columns};

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
            session.override_settings().await.map_err(failure)?;
            let word = session.check_by_server(&self.options, &self.expectation).await;
            if let Word::Contradicts(problem) = word.map_err(failure)? {
                return Err(Failure::FactsDiffer(problem));
            }
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

/// Ends sessions that load, so that nobody waits for their last statement: the server does not notice that nobody waits
/// for it. Of these numbers only those are ended that are the account's own, in this database, by the name of this session:
/// a number may be a session of somebody else's by now.
///
/// # Errors
/// When the server refuses.
pub async fn end_sessions(session: &mut Session, numbers: &[u32]) -> Result<()> {
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

/// Makes sure that this account may make tables and remove them, by doing both in a transaction that is rolled back.
///
/// # Errors
/// When the server refuses.
pub async fn rehearse_removal(session: &mut Session) -> Result<()> {
    let is_there = !session
        .query(&(Session::DIALECT.schema)(&SCHEMA))
        .await?
        .is_empty();
    let must_stay = mark::must_stay(session).await?;
    let statements = [
        (true, "BEGIN".to_owned()),
        (!is_there, format!("CREATE SCHEMA {}", SCHEMA.quoted())),
        (
            true,
            format!(
                "CREATE TABLE {}.never_made_by_ciphertax (id integer)",
                SCHEMA.quoted()
            ),
        ),
        (
            true,
            format!("DROP TABLE {}.never_made_by_ciphertax", SCHEMA.quoted()),
        ),
        (!must_stay, format!("DROP SCHEMA {}", SCHEMA.quoted())),
    ];
    let mut done = Ok(());
    for (_, statement) in statements.iter().filter(|(is_needed, _)| *is_needed) {
        done = session.command(statement).await.map(drop);
        if done.is_err() {
            break;
        }
    }
    let rolled_back = session.command("ROLLBACK").await.map(drop);
    match done {
        // What an earlier run left is still in the schema (dependent_objects_still_exist).
        Err(WireError::PostgreSql { sql_state, .. }) if sql_state == "2BP01" => Ok(rolled_back?),
        done => Ok(done.and(rolled_back)?),
    }
}
