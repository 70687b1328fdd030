//! Sessions of PostgreSQL that are what their arm says.

use std::rc::Rc;

use ciphertax_engine::Failure;
use ciphertax_reactor::Reactor;
use ciphertax_wire::Client as _;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Session};

use crate::client::{Client, failure};
use crate::sql::Columns;

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

impl Client for PostgresqlAccess {
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
        let (mut session, _) = Session::connect(reactor, &self.options).await.map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        if !self.is_pooled {
            let word = session.check_by_server(&self.options, &self.expectation).await;
            word.map_err(failure)?.map_err(Failure::FactsDiffer)?;
        }
        Ok(session)
    }
}
