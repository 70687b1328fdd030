//! sysbench's `oltp_point_select`: one row by primary key, prepared.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Workload};
use ciphertax_reactor::Reactor;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::access::Access;
use crate::prepared::Prepared;

/// `SELECT c FROM sbtest1 WHERE id = ?` with ids drawn uniformly.
pub struct PointSelect {
    /// How the arm reaches its server.
    pub access: Access,
    /// Rows of the table: ids run from 1 to this.
    pub rows: u32,
}

/// A session with its statement.
pub struct Connection {
    prepared: Prepared,
    ids: Pcg64Mcg,
}

impl Workload for PointSelect {
    type Connection = Connection;

    const KINDS: &'static [&'static str] = &["point_select"];

    async fn open(&self, reactor: &Rc<Reactor>, seed: u64) -> Result<Connection, Failure> {
        Ok(Connection {
            prepared: Prepared::open(&self.access, reactor, "SELECT c FROM sbtest1 WHERE id=?").await?,
            ids: Pcg64Mcg::seed_from_u64(seed),
        })
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let id = connection.ids.random_range(1..=self.rows);
        let (answer, operation) = connection.prepared.execute(&[id.into()]).await?;
        if answer.rows != 1 {
            return Err(Failure::Error(format!(
                "id {id} has {} rows; expected one: was the table changed?",
                answer.rows
            )));
        }
        Ok(operation)
    }
}
