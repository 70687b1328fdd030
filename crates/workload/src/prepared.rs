//! A session with the one statement that its workload executes, and what an operation is.

use std::rc::Rc;

use ciphertax_engine::{Failure, Operation};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Traffic;
use ciphertax_wire::mysql::{ResultSummary, Session, Statement};

use crate::access::{Access, failure};

/// A session with its statement.
pub struct Prepared {
    session: Session,
    statement: Statement,
}

impl Prepared {
    pub(crate) async fn open(access: &Access, reactor: &Rc<Reactor>, sql: &str) -> Result<Self, Failure> {
        let mut session = access.open(reactor).await?;
        let statement = session.prepare(sql).await.map_err(failure)?;
        Ok(Self { session, statement })
    }

    /// Executes the statement: what came back, and the operation it was, of the workload's only kind.
    pub(crate) async fn execute(&mut self, values: &[i64]) -> Result<(ResultSummary, Operation), Failure> {
        let before = self.session.traffic();
        let answer = self
            .session
            .execute(&mut self.statement, values)
            .await
            .map_err(failure)?;
        Ok((answer, operation(&self.session, before, 1)))
    }
}

/// An operation of a workload's only kind, which is what a session did since its traffic was `before`.
pub(crate) fn operation(session: &Session, before: Traffic, queries: u64) -> Operation {
    let after = session.traffic();
    Operation {
        queries,
        bytes_sent: after.sent - before.sent,
        bytes_received: after.received - before.received,
        ..Operation::default()
    }
}
