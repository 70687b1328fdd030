//! Results of one mebibyte: what the record layer costs when there is much to carry.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_reactor::Reactor;

use crate::access::Access;
use crate::dataset::{BULK_BYTES, BULK_ROWS};
use crate::prepared::Prepared;

/// `SELECT payload FROM bulk`: 16 rows of 64 KiB of random bytes, prepared.
pub struct BulkRead {
    /// How the arm reaches its server.
    pub access: Access,
}

impl Workload for BulkRead {
    type Connection = Prepared;

    const KINDS: &'static [&'static str] = &["bulk_read"];

    async fn open(&self, reactor: &Rc<Reactor>, _seat: Seat) -> Result<Prepared, Failure> {
        Prepared::open(&self.access, reactor, "SELECT payload FROM bulk").await
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Prepared,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let (answer, operation) = connection.execute(&[]).await?;
        if answer.rows != u64::from(BULK_ROWS) || answer.row_bytes < BULK_BYTES {
            let (rows, bytes) = (answer.rows, answer.row_bytes);
            return Err(Failure::Error(format!(
                "a bulk read gave {rows} rows of {bytes} bytes: was the table changed?"
            )));
        }
        Ok(operation)
    }
}
