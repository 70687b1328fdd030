//! A session with the one statement that its workload executes.

use std::rc::Rc;

use ciphertax_engine::{Failure, Operation};
use ciphertax_reactor::Reactor;
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
        let after = self.session.traffic();
        let operation = Operation {
            kind: 0,
            bytes_sent: after.sent - before.sent,
            bytes_received: after.received - before.received,
        };
        Ok((answer, operation))
    }
}
