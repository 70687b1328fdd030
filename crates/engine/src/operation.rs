//! What an operation came to.

/// An operation that succeeded.
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
    /// Bytes sent for it.
    pub bytes_sent: u64,
    /// Bytes received for it.
    pub bytes_received: u64,
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
