//! sysbench's `oltp_point_select`: one row by primary key, prepared.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{Session, Statement};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::access::{Access, failure};

/// `SELECT c FROM sbtest1 WHERE id = ?` with ids drawn uniformly.
pub struct PointSelect {
    /// How the arm reaches its server.
    pub access: Access,
    /// Rows of the table: ids run from 1 to this.
    pub rows: u32,
}

/// A session with its statement.
pub struct Connection {
    session: Session,
    statement: Statement,
    ids: Pcg64Mcg,
}

impl Workload for PointSelect {
    type Connection = Connection;

    const KINDS: &'static [&'static str] = &["point_select"];

    async fn open(&self, reactor: &Rc<Reactor>, seed: u64) -> Result<Connection, Failure> {
        let mut session = self.access.open(reactor).await?;
        let statement = session
            .prepare("SELECT c FROM sbtest1 WHERE id=?")
            .await
            .map_err(failure)?;
        Ok(Connection {
            session,
            statement,
            ids: Pcg64Mcg::seed_from_u64(seed),
        })
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let before = connection.session.traffic();
        let id = connection.ids.random_range(1..=self.rows);
        let answer = connection
            .session
            .execute(&mut connection.statement, &[id.into()])
            .await
            .map_err(failure)?;
        if answer.rows != 1 {
            return Err(Failure::Error(format!(
                "id {id} has {} rows; expected one: was the table changed?",
                answer.rows
            )));
        }
        let after = connection.session.traffic();
        Ok(Operation {
            kind: 0,
            bytes_sent: after.sent - before.sent,
            bytes_received: after.received - before.received,
        })
    }
}
