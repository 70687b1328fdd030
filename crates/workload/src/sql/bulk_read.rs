//! Results of one mebibyte: what the record layer costs when there is much to carry.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Slot, Workload};
use ciphertax_reactor::Reactor;

use super::prepared::Prepared;
use super::session::Sql;
use crate::dataset::bulk::{BULK_BYTES, BULK_ROWS};

/// `SELECT payload FROM bulk`: 16 rows of 64 KiB of random bytes, prepared.
pub struct BulkRead<C> {
    /// How the arm reaches its server.
    pub access: C,
}

impl<C: Sql> Workload for BulkRead<C> {
    type Connection = Prepared<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::BulkRead.descriptor().kinds;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection, Failure> {
        Prepared::open(&self.access, reactor, slot.index, "SELECT payload FROM bulk", 0).await
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Self::Connection,
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
