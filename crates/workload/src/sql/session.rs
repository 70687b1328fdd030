//! The tables of SQL workloads and their transactions.

use ciphertax_engine::{Failure, Result};
use ciphertax_model::{Dataset, Study};
use ciphertax_wire::WireError;

use crate::driver::failure;

pub use ciphertax_wire::Value;
pub use ciphertax_wire::sql::{Parameter, Query, ResultSummary, SqlSession, Statement, TextRow};

/// The tables as the workloads find them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// How many, how large, and how rows are picked.
    pub dataset: Dataset,
    /// True if a workload of the same study deletes rows for good, so that a row that is not there is no error.
    pub thinned: bool,
}

impl Tables {
    /// The tables of this study.
    pub fn of(study: &Study) -> Self {
        Self {
            dataset: study.dataset,
            thinned: study
                .cells
                .iter()
                .any(|cell| cell.workload.descriptor().deletes_rows),
        }
    }

    /// Makes sure that a select of `asked` consecutive rows from `id` on gave what it must. Inserted rows may follow
    /// those of the data set.
    pub(crate) fn check(&self, id: u32, asked: u32, rows: u64) -> Result<()> {
        let there = asked.min(self.dataset.table_size - id + 1);
        let least = if self.thinned { 0 } else { there };
        if (u64::from(least)..=u64::from(asked)).contains(&rows) {
            return Ok(());
        }
        Err(Failure::Error(format!(
            "{asked} rows from id {id} on have {rows} rows; expected {there}: was the table changed?"
        )))
    }
}

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
            Err(error) if error.is_not_preparable() => Ok(Self::Text(Query::new(sql))),
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

/// Why an operation did not end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server gave up on it for the sake of another: it is to be begun anew.
    Restart,
    /// It failed.
    Failed(Failure),
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Self {
        match error.is_to_be_restarted() {
            true => Self::Restart,
            false => Self::Failed(failure(error)),
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
