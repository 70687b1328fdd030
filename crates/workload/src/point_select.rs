//! sysbench's `oltp_point_select`: one row by primary key, prepared.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{Session, Statement};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::access::{Access, failure};
use crate::distribution::Picker;
use crate::prepared::operation;
use crate::tables::Tables;

/// `SELECT c FROM sbtest… WHERE id = ?` with a table and an id picked for each.
pub struct PointSelect {
    /// How the arm reaches its server.
    pub access: Access,
    /// What is asked.
    pub tables: Tables,
}

/// A session with its statements.
pub struct Connection {
    session: Session,
    /// One a table.
    statements: Vec<Statement>,
    ids: Picker,
    random: Pcg64Mcg,
}

impl Workload for PointSelect {
    type Connection = Connection;

    const KINDS: &'static [&'static str] = &["point_select"];

    async fn open(&self, reactor: &Rc<Reactor>, seat: Seat) -> Result<Connection, Failure> {
        let dataset = &self.tables.dataset;
        let mut session = self.access.open(reactor).await?;
        let mut statements = Vec::with_capacity(dataset.tables as usize);
        for table in 1..=dataset.tables {
            let sql = format!("SELECT c FROM sbtest{table} WHERE id=?");
            statements.push(session.prepare(&sql).await.map_err(failure)?);
        }
        Ok(Connection {
            session,
            statements,
            ids: Picker::new(dataset.distribution, 1..=dataset.table_size),
            random: Pcg64Mcg::seed_from_u64(seat.seed),
        })
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let Connection {
            session,
            statements,
            ids,
            random,
        } = connection;
        let statement = random.random_range(0..statements.len());
        let id = ids.pick(random);
        let before = session.traffic();
        let answer = session
            .execute(&mut statements[statement], &[id.into()])
            .await
            .map_err(failure)?;
        self.tables.check(id, 1, answer.rows)?;
        Ok(operation(session, before, 1))
    }
}
