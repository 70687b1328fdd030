//! Sessions of MySQL that are what their arm says.

use std::rc::Rc;

use ciphertax_columns::encdb::Derivation;
use ciphertax_engine::Failure;
use ciphertax_reactor::Reactor;
use ciphertax_wire::Client as _;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};

use super::key_exchange::KeyExchange;
use crate::client::{Client, failure};
use crate::sql::Columns;
use crate::sql::session::Statements;

/// How an arm reaches its server, and what every session must then be.
#[derive(Clone)]
pub struct MysqlAccess {
    /// How to connect.
    pub options: ConnectOptions,
    /// What every session must be.
    pub expectation: Expectation,
    /// Connections that may be opened at a time: where the arm resumes sessions, as many are kept ready.
    pub connections: usize,
    /// The statement after which the server remembers no password, where every login must find it so.
    pub forget_passwords: Option<&'static str>,
    /// How the server encrypts the fields of YCSB's table; `None` for plain ones.
    pub columns: Option<Columns>,
    /// What every session gives a server that encrypts cells of its results itself; `None` for other servers.
    pub key_exchange: Option<KeyExchange>,
}

impl Client for MysqlAccess {
    type Session = Session;

    fn expectation(&self) -> &Expectation {
        &self.expectation
    }

    async fn route(&self, _reactor: &Rc<Reactor>, _slot: u32) -> Result<ConnectOptions, Failure> {
        Ok(self.options.clone())
    }

    async fn open(&self, reactor: &Rc<Reactor>, _slot: u32) -> Result<Session, Failure> {
        Session::warm_up(reactor, &self.options, self.connections)
            .await
            .map_err(failure)?;
        let connect = self.expectation.connect(reactor, &self.options);
        let mut session = connect.await.map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        let word = self
            .expectation
            .check_status(&mut session)
            .await
            .map_err(failure)?;
        word.map_err(Failure::FactsDiffer)?;
        if let Some(exchange) = &self.key_exchange {
            exchange.begin(&mut session).await?;
        }
        Ok(session)
    }

    fn derivation(&self) -> Derivation {
        let exchange = self.key_exchange.as_ref();
        exchange.map_or_else(Derivation::default, KeyExchange::derivation)
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
}
