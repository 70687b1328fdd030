//! What is MySQL's alone, and that of the servers compatible with it: sessions that are what their arm says, and what they leave.

mod key_exchange;

use std::rc::Rc;

use ciphertax_columns::encdb::Derivation;
use ciphertax_engine::{Engine, EngineError, Failure};
use ciphertax_model::workload::Vocabulary;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Client as _, Session as _, WireError};

use crate::dataset::{Result, SCHEMA};
use crate::driver::{Access, Job, failure};
use crate::sql::{self, Columns};

pub use key_exchange::{KeyExchange, exchange_keys};

/// How an arm reaches its server, and what every session must then be.
#[derive(Clone)]
pub struct MysqlAccess {
    /// How to connect.
    pub options: ConnectOptions,
    /// What every session must be.
    pub expectation: Expectation,
    /// Connections that may be opened at a time: where the arm resumes sessions, as many are kept ready.
    pub connections: usize,
    /// The server behind a pooler knows nothing of the client's session.
    pub is_pooled: bool,
    /// The statement after which the server remembers no password, where every login must find it so.
    pub forget_passwords: Option<&'static str>,
    /// How the server encrypts the fields of YCSB's table; `None` for plain ones.
    pub columns: Option<Columns>,
    /// What every session gives a server that encrypts cells of its results itself; `None` for other servers.
    pub key_exchange: Option<KeyExchange>,
}

impl Access for MysqlAccess {
    type Session = Session;

    const NAME: &'static str = "MySQL";

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
        let connect = Session::connect_as(reactor, &self.options, &self.expectation);
        let mut session = connect.await.map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        if !self.is_pooled {
            session.override_settings().await.map_err(failure)?;
            let word = self.expectation.check_status(&mut session).await;
            word.map_err(failure)?.map_err(Failure::FactsDiffer)?;
        }
        if let Some(exchange) = &self.key_exchange {
            exchange.begin(&mut session).await?;
        }
        Ok(session)
    }

    fn derivation(&self) -> Derivation {
        let exchange = self.key_exchange.as_ref();
        exchange.map_or_else(Derivation::default, |exchange| exchange.suite.derivation())
    }

    /// Has the server forget all passwords, where the arm's logins must find it so. The session for it takes no cold
    /// account, since there may be none left.
    async fn before_connects(&self, reactor: &Rc<Reactor>) -> Result<(), Failure> {
        let Some(statement) = self.forget_passwords else {
            return Ok(());
        };
        let options = ConnectOptions {
            cold_accounts: None,
            ..self.options.clone()
        };
        let (mut session, _) = Session::connect(reactor, &options).await.map_err(failure)?;
        session.command(statement).await.map_err(failure)?;
        session.close().await.map_err(failure)?;
        if let Some(accounts) = &self.options.cold_accounts {
            accounts.forgotten();
        }
        Ok(())
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

/// Makes sure that this account may remove the data set, by removing a table of it that never was; writes nothing.
///
/// # Errors
/// When it may not.
pub async fn refuse_without_drop(session: &mut Session) -> Result<()> {
    let drop = format!("DROP TABLE IF EXISTS {}.never_made_by_ciphertax", SCHEMA.quoted());
    match session.command(&drop).await {
        Err(error) if error.is_access_denied() => Err(error.into()),
        // Servers differ in what they say of a table in a schema that is not there.
        Ok(_) | Err(WireError::Server { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ends sessions that load, so that nobody waits for their last statement: the server does not notice that nobody waits
/// for it. Of these numbers only those are ended that are at work in the schema.
///
/// # Errors
/// When the server refuses.
pub async fn end_sessions(session: &mut Session, numbers: &[u32]) -> Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let at_work = format!(
        "SELECT id FROM information_schema.processlist WHERE db = '{SCHEMA}' AND id IN ({})",
        numbers.join(", ")
    );
    for row in session.query(&at_work).await? {
        match session.command(&format!("KILL {}", row.text(0))).await {
            // It has ended meanwhile.
            Ok(_) | Err(WireError::Server { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
