//! sysbench's selects by key: `oltp_point_select`, `select_random_points`, `select_random_ranges`.

use std::rc::Rc;

use ciphertax_engine::{Context, Failure, Operation, Result, Slot, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Session, Traffic};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::distribution::Picker;
use super::session::{Parameter, ResultSummary, SqlSession, Statement, Tables};
use crate::driver::{Access, failure};

/// `SELECT c FROM sbtest… WHERE id = ?` with a table and an id picked for each.
pub struct PointSelect<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What is asked.
    pub tables: Tables,
}

/// A session with its statements.
pub struct Connection<S: SqlSession> {
    session: S,
    /// One a table.
    statements: Vec<S::Statement>,
    ids: Picker,
    random: Pcg64Mcg,
}

impl<C: Access<Session: SqlSession>> Workload for PointSelect<C> {
    type Connection = Connection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::OltpPointSelect.descriptor().kinds;

    const RENEWS: bool = true;

    async fn close(&self, connection: Self::Connection) {
        drop(connection.session.close().await);
    }

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        let dataset = &self.tables.dataset;
        let mut session = self.access.open(reactor, slot.index).await?;
        let mut statements = Vec::with_capacity(dataset.tables as usize);
        for table in 1..=dataset.tables {
            let sql = C::Session::DIALECT.prepared(&format!("SELECT c FROM sbtest{table} WHERE id=?"));
            let prepared = session.prepare(&sql, &[Parameter::Integer]).await;
            statements.push(prepared.map_err(failure)?);
        }
        Ok(Connection {
            session,
            statements,
            ids: Picker::new(dataset.distribution, 1..=dataset.table_size),
            random: Pcg64Mcg::seed_from_u64(slot.seed),
        })
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let Connection {
            session,
            statements,
            ids,
            random,
        } = connection;
        let table = random.random_range(0..statements.len());
        let id = ids.pick(random);
        let before = session.traffic();
        let statement = &mut statements[table];
        statement.set_integer(0, id.into());
        let answer = session.execute(statement).await.map_err(failure)?;
        self.tables.check(id, 1, answer.rows)?;
        Ok(operation(session, before, 1))
    }
}

/// Points or ranges of a statement (`--random-points`, `--number-of-ranges`).
const VALUES: usize = 10;
/// From the first to the last value of a range (`--delta`).
const DELTA: i64 = 5;

/// A prepared select on `sbtest1`, as sysbench has it, however many tables there are. Each connection picks from its
/// own part of the values.
pub struct SelectRandom<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What is asked.
    pub tables: Tables,
    /// Which select.
    pub of: Random,
}

/// What is picked at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Random {
    /// `SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, …)`: ten values.
    Points,
    /// `SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR …`: ten ranges of six values.
    Ranges,
}

/// A session with its statement.
pub struct RandomConnection<S: SqlSession> {
    prepared: Prepared<S>,
    ks: Picker,
    random: Pcg64Mcg,
    values: Vec<i64>,
}

impl<C: Access<Session: SqlSession>> Workload for SelectRandom<C> {
    type Connection = RandomConnection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::SelectRandomPoints.descriptor().kinds;

    const RENEWS: bool = true;

    async fn close(&self, connection: Self::Connection) {
        connection.prepared.close().await;
    }

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        let (sql, integers) = match self.of {
            Random::Points => {
                let points = ["?"; VALUES].join(", ");
                let sql = format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({points})");
                (sql, VALUES)
            }
            Random::Ranges => {
                let ranges = ["k BETWEEN ? AND ?"; VALUES].join(" OR ");
                (format!("SELECT count(k) FROM sbtest1 WHERE {ranges}"), 2 * VALUES)
            }
        };
        let dataset = &self.tables.dataset;
        let width = f64::from(dataset.table_size) / f64::from(slot.of);
        let first = width * f64::from(slot.index);
        Ok(RandomConnection {
            prepared: Prepared::open(&self.access, reactor, slot.index, &sql, integers).await?,
            ks: Picker::new(dataset.distribution, first as u32..=(first + width) as u32),
            random: Pcg64Mcg::seed_from_u64(slot.seed),
            values: Vec::with_capacity(integers),
        })
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let RandomConnection {
            prepared,
            ks,
            random,
            values,
        } = connection;
        values.clear();
        for _ in 0..VALUES {
            let k = i64::from(ks.pick(random));
            values.push(k);
            if self.of == Random::Ranges {
                values.push(k + DELTA);
            }
        }
        let (answer, operation) = prepared.execute(values).await?;
        if self.of == Random::Ranges && answer.rows != 1 {
            return Err(Failure::Error(format!("a count gave {} rows", answer.rows)));
        }
        Ok(operation)
    }
}

/// A session with its statement.
pub struct Prepared<S: SqlSession> {
    session: S,
    statement: S::Statement,
}

impl<S: SqlSession> Prepared<S> {
    /// Takes leave of the server.
    pub(crate) async fn close(self) {
        drop(self.session.close().await);
    }

    /// Prepares a statement with so many integers, each a `?` in `sql`.
    pub(crate) async fn open<C: Access<Session = S>>(
        access: &C,
        reactor: &Rc<Reactor>,
        slot: u32,
        sql: &str,
        integers: usize,
    ) -> Result<Self> {
        let mut session = access.open(reactor, slot).await?;
        let parameters = vec![Parameter::Integer; integers];
        let statement = session
            .prepare(&S::DIALECT.prepared(sql), &parameters)
            .await
            .map_err(failure)?;
        Ok(Self { session, statement })
    }

    /// Executes the statement: what came back, and the operation it was, of the workload's only kind.
    pub(crate) async fn execute(&mut self, values: &[i64]) -> Result<(ResultSummary, Operation)> {
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
