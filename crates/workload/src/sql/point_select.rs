//! sysbench's `oltp_point_select`: one row by primary key, prepared.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Slot, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Session;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::distribution::Picker;
use super::prepared::operation;
use super::session::{Parameter, Sql, SqlSession, Statement, Statements};
use super::tables::Tables;
use crate::client::failure;

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

impl<C: Sql> Workload for PointSelect<C> {
    type Connection = Connection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::OltpPointSelect.descriptor().kinds;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection, Failure> {
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

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Self::Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
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
