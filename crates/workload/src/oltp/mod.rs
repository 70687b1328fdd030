//! sysbench's `oltp` scenarios of prepared statements: single writes and transactions.

mod scenario;
mod statement;

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{Query, ResultSummary, Session, Statement};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::access::{Access, failure};
use crate::distribution::Picker;
use crate::prepared::operation;
use crate::restart::Trouble;
use crate::tables::Tables;

pub use scenario::Scenario;
use statement::Kind;

/// A scenario over and over; an operation is a transaction. Each statement is sent when the one before was answered.
pub struct Oltp {
    /// How the arm reaches its server.
    pub access: Access,
    /// What is asked.
    pub tables: Tables,
    /// What an operation is.
    pub scenario: Scenario,
}

/// A session with the scenario's statements.
pub struct Connection {
    session: Session,
    /// Those of the first table in the scenario's order, then those of the second, and so on.
    statements: Vec<Statement>,
    /// Around the statements, if the scenario is a transaction.
    bounds: Option<Bounds>,
    ids: Picker,
    random: Pcg64Mcg,
    /// Statements answered so far.
    queries: u64,
}

/// What begins and ends a transaction.
struct Bounds {
    begin: Command,
    commit: Command,
    rollback: Query,
}

/// Prepared where the server can prepare it, else as text, which is what sysbench does too.
enum Command {
    Prepared(Statement),
    Text(Query),
}

impl Workload for Oltp {
    type Connection = Connection;

    const KINDS: &'static [&'static str] = &["transaction"];

    async fn open(&self, reactor: &Rc<Reactor>, seat: Seat) -> Result<Connection, Failure> {
        let session = self.access.open(reactor).await?;
        self.prepare(session, seat).await.map_err(failure)
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
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

impl Oltp {
    async fn prepare(&self, mut session: Session, seat: Seat) -> Result<Connection, WireError> {
        let dataset = &self.tables.dataset;
        let bounds = if self.scenario.is_transaction() {
            Some(Bounds {
                begin: Command::prepare(&mut session, "BEGIN").await?,
                commit: Command::prepare(&mut session, "COMMIT").await?,
                rollback: Query::new("ROLLBACK"),
            })
        } else {
            None
        };
        let mut statements = Vec::new();
        for table in 1..=dataset.tables {
            for kind in self.scenario.statements() {
                statements.push(session.prepare_with(&kind.sql(table), kind.parameters()).await?);
            }
        }
        Ok(Connection {
            session,
            statements,
            bounds,
            ids: Picker::new(dataset.distribution, 1..=dataset.table_size),
            random: Pcg64Mcg::seed_from_u64(seat.seed),
            queries: 0,
        })
    }

    async fn transact(&self, connection: &mut Connection) -> Result<(), Trouble> {
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
        connection.commit().await?;
        Ok(())
    }
}

impl Connection {
    async fn execute(&mut self, index: usize, kind: Kind, id: u32) -> Result<ResultSummary, WireError> {
        let statement = &mut self.statements[index];
        kind.bind(statement, id, &self.ids, &mut self.random);
        let answer = self.session.execute_bound(statement).await?;
        self.queries += 1;
        Ok(answer)
    }

    async fn begin(&mut self) -> Result<(), WireError> {
        if let Some(bounds) = &mut self.bounds {
            bounds.begin.run(&mut self.session).await?;
            self.queries += 1;
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), WireError> {
        if let Some(bounds) = &mut self.bounds {
            bounds.commit.run(&mut self.session).await?;
            self.queries += 1;
        }
        Ok(())
    }

    /// After a lock wait that took too long, the statements before are still in force.
    async fn roll_back(&mut self) -> Result<(), WireError> {
        if let Some(bounds) = &mut self.bounds {
            self.session.run(&mut bounds.rollback).await?;
            self.queries += 1;
        }
        Ok(())
    }
}

impl Command {
    async fn prepare(session: &mut Session, sql: &str) -> Result<Self, WireError> {
        const ER_UNSUPPORTED_PS: u16 = 1295;
        match session.prepare(sql).await {
            Err(WireError::Server {
                code: ER_UNSUPPORTED_PS,
                ..
            }) => Ok(Self::Text(Query::new(sql))),
            prepared => Ok(Self::Prepared(prepared?)),
        }
    }

    async fn run(&mut self, session: &mut Session) -> Result<ResultSummary, WireError> {
        match self {
            Self::Prepared(statement) => session.execute_bound(statement).await,
            Self::Text(query) => session.run(query).await,
        }
    }
}
