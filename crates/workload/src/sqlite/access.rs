//! Sessions of SQLite that are what their arm says.

use std::rc::Rc;

use ciphertax_engine::Failure;
use ciphertax_reactor::Reactor;
use ciphertax_wire::Expectation;
use ciphertax_wire::sqlite::{ConnectOptions, Session};

use crate::driver::{Client, failure};

/// Which file an arm opens, and what every session must then be.
#[derive(Clone)]
pub struct SqliteAccess {
    /// How to open it.
    pub options: ConnectOptions,
    /// What every session must be.
    pub expectation: Expectation,
}

impl Client for SqliteAccess {
    type Session = Session;

    fn expectation(&self) -> &Expectation {
        &self.expectation
    }

    async fn route(&self, _reactor: &Rc<Reactor>, _slot: u32) -> Result<ConnectOptions, Failure> {
        Ok(self.options.clone())
    }

    async fn open(&self, _reactor: &Rc<Reactor>, _slot: u32) -> Result<Session, Failure> {
        let (mut session, _) = Session::open(&self.options).map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        let status = session.status().map_err(failure)?;
        status.check(&self.options).map_err(Failure::FactsDiffer)?;
        Ok(session)
    }
}
