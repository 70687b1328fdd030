//! What begins and ends transactions, and their isolation.

use ciphertax_model::Isolation;
use ciphertax_wire::WireError;

use super::ask::Asker;
use crate::sql::dialect::Transactions;
use crate::sql::session::{Query, SqlSession, Trouble};

/// What begins and ends the transactions of a session.
pub(super) struct Bounds {
    /// `None` where a transaction begins with its first statement.
    begin: Option<Query>,
    /// The same for one whose reads need not be repeatable.
    begin_read_committed: Option<Query>,
    commit: Query,
    rollback: Query,
}

impl Bounds {
    /// Tells the session how its transactions begin and how they are isolated.
    ///
    /// Clause 3.4.1 asks nothing more of stock-level than that it reads what is committed: where a study says an isolation, it
    /// is for the other four.
    pub(super) async fn open<S: SqlSession>(
        session: &mut S,
        isolation: Option<Isolation>,
    ) -> Result<Self, WireError> {
        let query = |text: &str| Some(Query::new(text));
        let level = isolation.map(level);
        let read_committed = level.map(|_| self::level(Isolation::ReadCommitted));
        let (begin, begin_read_committed) = match S::DIALECT.transactions {
            Transactions::Implicit => {
                session.command("SET autocommit = 0").await?;
                if let Some(level) = level {
                    let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
                    session.command(&set).await?;
                }
                let next = read_committed.filter(|read_committed| Some(*read_committed) != level);
                let next = next.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {level}"));
                (None, next.and_then(|next| query(&next)))
            }
            Transactions::Begun => {
                let begin = |level: Option<&str>| match level {
                    None => query("BEGIN"),
                    Some(level) => query(&format!("BEGIN ISOLATION LEVEL {level}")),
                };
                (begin(level), begin(read_committed))
            }
            Transactions::Serializable => {
                let begin = S::DIALECT.begin_to_write;
                (query(begin), query("BEGIN"))
            }
        };
        Ok(Self {
            begin,
            begin_read_committed,
            commit: Query::new("COMMIT"),
            rollback: Query::new("ROLLBACK"),
        })
    }

    pub(super) async fn begin(&mut self, asker: &mut Asker<impl SqlSession>) -> Result<(), Trouble> {
        match &mut self.begin {
            Some(begin) => asker.command(begin).await,
            None => Ok(()),
        }
    }

    /// Begins a transaction that only reads, and need not read twice.
    pub(super) async fn begin_read_committed(
        &mut self,
        asker: &mut Asker<impl SqlSession>,
    ) -> Result<(), Trouble> {
        match &mut self.begin_read_committed {
            Some(begin) => asker.command(begin).await,
            None => Ok(()),
        }
    }

    pub(super) async fn commit(&mut self, asker: &mut Asker<impl SqlSession>) -> Result<(), Trouble> {
        asker.command(&mut self.commit).await
    }

    pub(super) async fn roll_back(&mut self, asker: &mut Asker<impl SqlSession>) -> Result<(), Trouble> {
        asker.command(&mut self.rollback).await
    }
}

fn level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}
