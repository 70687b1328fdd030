//! A session with the one statement that its workload executes, and what an operation is.

use std::rc::Rc;

use ciphertax_engine::{Failure, Operation};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Session, Traffic};

use super::session::{Parameter, ResultSummary, SqlSession, Statement};
use crate::client::{Client, failure};

/// A session with its statement.
pub struct Prepared<S: SqlSession> {
    session: S,
    statement: S::Statement,
}

impl<S: SqlSession> Prepared<S> {
    /// Prepares a statement with so many integers, each a `?` in `sql`.
    pub(crate) async fn open<C: Client<Session = S>>(
        access: &C,
        reactor: &Rc<Reactor>,
        slot: u32,
        sql: &str,
        integers: usize,
    ) -> Result<Self, Failure> {
        let mut session = access.open(reactor, slot).await?;
        let parameters = vec![Parameter::Integer; integers];
        let statement = session
            .prepare(&S::DIALECT.prepared(sql), &parameters)
            .await
            .map_err(failure)?;
        Ok(Self { session, statement })
    }

    /// Executes the statement: what came back, and the operation it was, of the workload's only kind.
    pub(crate) async fn execute(&mut self, values: &[i64]) -> Result<(ResultSummary, Operation), Failure> {
        let before = self.session.traffic();
        for (index, value) in values.iter().enumerate() {
            self.statement.set_integer(index, *value);
        }
        let answer = self.session.execute(&mut self.statement).await.map_err(failure)?;
        Ok((answer, operation(&self.session, before, 1)))
    }
}

/// An operation of a workload's only kind, which is what a session did since its traffic was `before`.
pub(crate) fn operation(session: &impl Session, before: Traffic, queries: u64) -> Operation {
    let after = session.traffic();
    Operation {
        queries,
        bytes_sent: after.sent - before.sent,
        bytes_received: after.received - before.received,
        ..Operation::default()
    }
}
