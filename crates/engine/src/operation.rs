//! What an operation came to.

use std::ops::AddAssign;

/// An operation that succeeded; or the sum of several, of whatever kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operation {
    /// Index in the workload's kinds.
    pub kind: usize,
    /// Statements answered for it.
    pub queries: u64,
    /// Times it was begun anew because the server gave up on it, as in a deadlock.
    pub restarts: u64,
    /// Reads that did not find what was inserted before, since the member of a replica set that was asked did not have
    /// it yet.
    pub stale_reads: u64,
    /// Cells that the client encrypted for it.
    pub cells_encrypted: u64,
    /// Cells that the client decrypted for it.
    pub cells_decrypted: u64,
    /// Cells of columns that are named as encrypted, sent or received for it, without those that are NULL.
    pub cells_named: u64,
    /// Whether it is a new order that the specification of TPC-C has rolled back: 1, else 0.
    pub rolled_back: u64,
    /// Districts of a delivery of TPC-C that had no undelivered order.
    pub skipped_deliveries: u64,
    /// Bytes sent for it.
    pub bytes_sent: u64,
    /// Bytes received for it.
    pub bytes_received: u64,
}

/// Adds what was done; of which kind the sum is, says nothing.
impl AddAssign for Operation {
    fn add_assign(&mut self, other: Self) {
        self.queries += other.queries;
        self.restarts += other.restarts;
        self.stale_reads += other.stale_reads;
        self.cells_encrypted += other.cells_encrypted;
        self.cells_decrypted += other.cells_decrypted;
        self.cells_named += other.cells_named;
        self.rolled_back += other.rolled_back;
        self.skipped_deliveries += other.skipped_deliveries;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}

/// An operation that failed; its connection is not used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server said no, or answered wrongly.
    Error(String),
    /// The connection is gone, which is what a server that died looks like.
    Disconnected(String),
    /// The session is not what the arm says.
    FactsDiffer(String),
}

impl Failure {
    /// What happened, in words.
    pub fn message(&self) -> &str {
        match self {
            Self::Error(message) | Self::Disconnected(message) | Self::FactsDiffer(message) => message,
        }
    }
}
