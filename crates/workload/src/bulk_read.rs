//! Results of one mebibyte: what the record layer costs when there is much to carry.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{Session, Statement};

use crate::access::{Access, failure};
use crate::dataset::{BULK_BYTES, BULK_ROWS};

/// `SELECT payload FROM bulk`: 16 rows of 64 KiB of random bytes, prepared.
pub struct BulkRead {
    /// How the arm reaches its server.
    pub access: Access,
}

/// A session with its statement.
pub struct Connection {
    session: Session,
    statement: Statement,
}

impl Workload for BulkRead {
    type Connection = Connection;

    const KINDS: &'static [&'static str] = &["bulk_read"];

    async fn open(&self, reactor: &Rc<Reactor>, _seed: u64) -> Result<Connection, Failure> {
        let mut session = self.access.open(reactor).await?;
        let statement = session
            .prepare("SELECT payload FROM bulk")
            .await
            .map_err(failure)?;
        Ok(Connection { session, statement })
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let before = connection.session.traffic();
        let answer = connection
            .session
            .execute(&mut connection.statement, &[])
            .await
            .map_err(failure)?;
        if answer.rows != u64::from(BULK_ROWS) || answer.row_bytes < BULK_BYTES {
            let (rows, bytes) = (answer.rows, answer.row_bytes);
            return Err(Failure::Error(format!(
                "a bulk read gave {rows} rows of {bytes} bytes: was the table changed?"
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
