//! What YCSB asks of a database. Every kind of server that has it can be measured with all of YCSB's workloads.

use std::ops::Range;
use std::rc::Rc;

use ciphertax_engine::{Operation, Result, Slot};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Traffic;
use rand_pcg::Pcg64Mcg;

use super::keys::Key;

/// A table of records on some server, as an arm reaches it. Everything that is read is checked before it counts.
pub trait KeyValue: Send + Sync + 'static {
    /// A session on it.
    type Records: Records;

    /// Opens a session that asks for single records of `usertable`, and makes sure that it is what the arm says.
    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Records>;

    /// Opens a session that writes and looks at many records of a table, which may not be there yet, and makes sure that it is
    /// what the arm says.
    async fn open_loader(&self, reactor: &Rc<Reactor>, table: Table) -> Result<Self::Records>;
}

/// A session on a table of records. What asks for single records allocates nothing and formats nothing.
pub trait Records {
    /// Reads all fields of a record; false if it is not there.
    async fn read(&mut self, key: &Key) -> Result<bool>;

    /// Overwrites one field of a record with another value, picked by `values`.
    async fn update(&mut self, key: &Key, field: u16, values: &mut Pcg64Mcg) -> Result<()>;

    /// Inserts a record.
    async fn insert(&mut self, key: &Key) -> Result<()>;

    /// Reads up to `count` records in the order of their keys, from `first` on; false if that is not there.
    async fn scan(&mut self, first: &Key, count: u32) -> Result<bool>;

    /// True if what is written is there for readers only some time after the server said so.
    fn lags(&self) -> bool {
        false
    }

    /// Makes the table if there is none.
    async fn create(&mut self) -> Result<()>;

    /// Deletes all records.
    async fn empty(&mut self) -> Result<()>;

    /// Records in the table.
    async fn count(&mut self) -> Result<u64>;

    /// How many of these records are there.
    async fn count_of(&mut self, numbers: Range<u64>) -> Result<u64>;

    /// Inserts records, as new ones, and returns the number of requests that took.
    async fn insert_many(&mut self, numbers: Range<u64>) -> Result<u64>;

    /// Deletes those of the records that are there, and returns how many that were.
    async fn delete_many(&mut self, numbers: Range<u64>) -> Result<u64>;

    /// Has the server look at all records: makes sure that each has its fields in full length, and returns how many
    /// there are.
    async fn look_at_all(&mut self) -> Result<u64>;

    /// Reads a record and compares every byte.
    async fn verify(&mut self, number: u64) -> Result<()>;

    /// What went over the connection so far.
    fn work(&self) -> Work;

    /// Says goodbye.
    async fn close(self) -> Result<()>;
}

/// What went over a connection so far.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Bytes.
    pub traffic: Traffic,
    /// Cells, in the order of [`CELLS`](ciphertax_model::workload::CELLS).
    pub cells: [u64; 3],
}

impl Work {
    /// An operation of so many queries on a connection whose work was `before` when it began.
    pub(super) fn operation_since(self, before: Self, queries: u64) -> Operation {
        let cells = |count: usize| self.cells[count] - before.cells[count];
        Operation {
            queries,
            counts: [cells(0), cells(1), cells(2), 0, 0],
            bytes_sent: self.traffic.sent - before.traffic.sent,
            bytes_received: self.traffic.received - before.traffic.received,
            ..Operation::default()
        }
    }
}

/// The tables of YCSB's workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// What all mixes ask.
    Usertable,
    /// What the load phase fills when it is measured.
    Load,
}

impl Table {
    /// Its name on the server.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usertable => "usertable",
            Self::Load => "usertable_load",
        }
    }
}
