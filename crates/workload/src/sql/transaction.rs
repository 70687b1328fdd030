//! What begins and ends transactions.

use ciphertax_wire::WireError;

use super::session::{Query, ResultSummary, SqlSession};

/// What begins and ends the transactions of a session.
pub(crate) struct Transaction<S: SqlSession> {
    begin: Command<S>,
    end: Command<S>,
    rollback: Query,
}

/// Prepared where the server can prepare it, else as text, which is what sysbench does too.
enum Command<S: SqlSession> {
    Prepared(S::Statement),
    Text(Query),
}

impl<S: SqlSession> Transaction<S> {
    /// Transactions from a statement such as `BEGIN` to one such as `COMMIT`.
    pub(crate) async fn prepare(session: &mut S, begin: &str, end: &str) -> Result<Self, WireError> {
        Ok(Self {
            begin: Command::prepare(session, begin).await?,
            end: Command::prepare(session, end).await?,
            rollback: Query::new("ROLLBACK"),
        })
    }

    pub(crate) async fn begin(&mut self, session: &mut S) -> Result<ResultSummary, WireError> {
        self.begin.run(session).await
    }

    pub(crate) async fn end(&mut self, session: &mut S) -> Result<ResultSummary, WireError> {
        self.end.run(session).await
    }

    /// After a lock wait that took too long, the statements before are still in force.
    pub(crate) async fn roll_back(&mut self, session: &mut S) -> Result<ResultSummary, WireError> {
        session.run(&mut self.rollback).await
    }
}

impl<S: SqlSession> Command<S> {
    async fn prepare(session: &mut S, sql: &str) -> Result<Self, WireError> {
        match session.prepare(sql, &[]).await {
            Err(error) if S::is_not_preparable(&error) => Ok(Self::Text(Query::new(sql))),
            prepared => Ok(Self::Prepared(prepared?)),
        }
    }

    async fn run(&mut self, session: &mut S) -> Result<ResultSummary, WireError> {
        match self {
            Self::Prepared(statement) => session.execute(statement).await,
            Self::Text(query) => session.run(query).await,
        }
    }
}
