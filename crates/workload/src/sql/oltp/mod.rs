//! sysbench's `oltp` scenarios of prepared statements: single writes and transactions.

mod statement;

use std::rc::Rc;

use ciphertax_engine::{Context, Operation, Result, Slot, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Session, WireError};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::driver::{Access, failure};
use crate::sql::distribution::Picker;
use crate::sql::point_select::operation;
use crate::sql::session::{ResultSummary, SqlSession, Tables, Transaction, Trouble};

use statement::Kind;
pub use statement::Scenario;

/// A scenario over and over; an operation is a transaction. Each statement is sent when the one before was answered.
pub struct Oltp<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What is asked.
    pub tables: Tables,
    /// What an operation is.
    pub scenario: Scenario,
}

/// A session with the scenario's statements.
pub struct Connection<S: SqlSession> {
    session: S,
    /// Those of the first table in the scenario's order, then those of the second, and so on.
    statements: Vec<S::Statement>,
    /// Around the statements, if the scenario is a transaction.
    bounds: Option<Transaction<S>>,
    ids: Picker,
    random: Pcg64Mcg,
    /// Statements answered so far.
    queries: u64,
}

impl<C: Access<Session: SqlSession>> Workload for Oltp<C> {
    type Connection = Connection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::OltpReadWrite.descriptor().kinds;

    const RENEWS: bool = true;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        let session = self.access.open(reactor, slot.index).await?;
        self.prepare(session, slot).await.map_err(failure)
    }

    async fn close(&self, connection: Self::Connection) {
        drop(connection.session.close().await);
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let before = connection.session.traffic();
        connection.queries = 0;
        let mut restarts = 0;
        loop {
            match self.transact(connection).await {
                Ok(()) => break,
                Err(Trouble::Restart) => connection.roll_back().await.map_err(failure)?,
                Err(Trouble::Failed(failure)) => return Err(failure),
            }
            restarts += 1;
        }
        Ok(Operation {
            restarts,
            ..operation(&connection.session, before, connection.queries)
        })
    }
}

impl<C: Access<Session: SqlSession>> Oltp<C> {
    async fn prepare(
        &self,
        mut session: C::Session,
        slot: Slot,
    ) -> Result<Connection<C::Session>, WireError> {
        let dataset = &self.tables.dataset;
        let bounds = if self.scenario.is_transaction() {
            let begin = match self.scenario.writes() {
                true => C::Session::DIALECT.begin_to_write,
                false => "BEGIN",
            };
            Some(Transaction::prepare(&mut session, begin, "COMMIT").await?)
        } else {
            None
        };
        let mut statements = Vec::new();
        for table in 1..=dataset.tables {
            for kind in self.scenario.statements() {
                let sql = C::Session::DIALECT.prepared(&kind.sql(table));
                statements.push(session.prepare(&sql, kind.parameters()).await?);
            }
        }
        Ok(Connection {
            session,
            statements,
            bounds,
            ids: Picker::new(dataset.distribution, 1..=dataset.table_size),
            random: Pcg64Mcg::seed_from_u64(slot.seed),
            queries: 0,
        })
    }

    async fn transact(&self, connection: &mut Connection<C::Session>) -> Result<(), Trouble> {
        connection.begin().await?;
        let kinds = self.scenario.statements();
        let mut table = 0;
        let mut id = 0;
        for (index, kind) in kinds.iter().enumerate() {
            // The insert puts back the row that the delete before it took.
            if *kind != Kind::Insert {
                table = connection.random.random_range(0..self.tables.dataset.tables) as usize;
            }
            for _ in 0..kind.times() {
                if *kind != Kind::Insert {
                    id = connection.ids.pick(&mut connection.random);
                }
                let answer = connection.execute(table * kinds.len() + index, *kind, id).await?;
                kind.check(&self.tables, id, answer)?;
            }
        }
        connection.commit().await
    }
}

impl<S: SqlSession> Connection<S> {
    async fn execute(&mut self, index: usize, kind: Kind, id: u32) -> Result<ResultSummary, Trouble> {
        let statement = &mut self.statements[index];
        kind.bind(statement, id, &self.ids, &mut self.random);
        let answer = self.session.execute(statement).await?;
        self.queries += 1;
        Ok(answer)
    }

    async fn begin(&mut self) -> Result<(), Trouble> {
        if let Some(bounds) = &mut self.bounds {
            bounds.begin(&mut self.session).await?;
            self.queries += 1;
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Trouble> {
        if let Some(bounds) = &mut self.bounds {
            bounds.end(&mut self.session).await?;
            self.queries += 1;
        }
        Ok(())
    }

    async fn roll_back(&mut self) -> Result<(), WireError> {
        if let Some(bounds) = &mut self.bounds {
            bounds.roll_back(&mut self.session).await?;
            self.queries += 1;
        }
        Ok(())
    }
}
