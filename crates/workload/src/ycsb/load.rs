//! YCSB's load phase, measured: batches of new records.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use ciphertax_engine::{Context, Operation, Result, Slot, Workload};
use ciphertax_model::YcsbTable;
use ciphertax_reactor::Reactor;

use super::key_value::{KeyValue, Records, Table};

/// Inserts batches into a table of its own, which is emptied before every slice, outside the measured time, so that all
/// arms insert the same records into the same table. An operation is a batch, from the request to the answer, and its
/// latency is that of the batch; one query holds a whole batch unless it is so large that it takes several.
///
/// YCSB's own figures for a load with `batchsize=100` mean something else: its MongoDB binding puts 99 inserts of 100
/// into a buffer, in next to no time, and sends all with the hundredth. Its 95th percentile is then the time to fill a
/// buffer (39 µs in the published figures of the study `mongodb-auth`), its mean a hundredth of a batch and 99 times
/// nothing, as if spread over all (2,050 µs there, so some 0.2 s a batch): neither is how long a record or a batch
/// waits for the server.
pub struct YcsbLoad<S> {
    store: S,
    batch: u64,
    next: AtomicU64,
}

impl<S: KeyValue> YcsbLoad<S> {
    /// Inserts into `store` records as those of `table`, in its batches.
    pub fn new(store: S, table: &YcsbTable) -> Self {
        Self {
            store,
            batch: table.batch_size.into(),
            next: AtomicU64::new(0),
        }
    }
}

impl<S: KeyValue> Workload for YcsbLoad<S> {
    type Connection = S::Records;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::YcsbLoad.descriptor().kinds;
    const COUNTS: &'static [&'static str] = ciphertax_model::Workload::YcsbLoad.descriptor().counts;

    const CHECKS: bool = true;

    async fn open(&self, reactor: &Rc<Reactor>, _slot: Slot) -> Result<S::Records> {
        self.store.open_loader(reactor, Table::Load).await
    }

    async fn check(&self, reactor: &Rc<Reactor>) -> Result<()> {
        let mut loader = self.store.open_loader(reactor, Table::Load).await?;
        loader.create().await?;
        loader.empty().await?;
        self.next.store(0, Ordering::Relaxed);
        loader.close().await
    }

    async fn operate(&self, loader: &mut S::Records, _: &Context) -> Result<Operation> {
        let before = loader.work();
        let first = self.next.fetch_add(self.batch, Ordering::Relaxed);
        let queries = loader.insert_many(first..first + self.batch).await?;
        Ok(loader.work().operation_since(before, queries))
    }
}
