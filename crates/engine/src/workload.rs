//! What the engine drives.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use ciphertax_reactor::Reactor;

use crate::recorder::Recorder;

/// What one connection does over and over. One value an arm, shared by all load threads.
pub trait Workload: Send + Sync + 'static {
    /// What lives as long as a connection.
    type Connection;

    /// The kinds of operations, by the names used in records.
    const KINDS: &'static [&'static str];

    /// Opens a connection and makes sure that it is what the arm says.
    fn open(
        &self,
        reactor: &Rc<Reactor>,
        slot: Slot,
    ) -> impl Future<Output = Result<Self::Connection, Failure>>;

    /// Does one operation, from the request to the whole answer.
    fn operate(
        &self,
        reactor: &Rc<Reactor>,
        connection: &mut Self::Connection,
        recorder: &RefCell<Recorder>,
    ) -> impl Future<Output = Result<Operation, Failure>>;

    /// Makes sure, outside the measured time and once before every slice, that new connections are what the arm says.
    fn check(&self, _reactor: &Rc<Reactor>) -> impl Future<Output = Result<(), Failure>> {
        async { Ok(()) }
    }
}

/// Which of an arm's connections one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Its number, from 0; that of the connection before if it takes the place of one that broke.
    pub index: u32,
    /// The arm's connections.
    pub of: u32,
    /// Differs from connection to connection.
    pub seed: u64,
}

/// An operation that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operation {
    /// Index in [`Workload::KINDS`].
    pub kind: usize,
    /// Statements answered for it.
    pub queries: u64,
    /// Times it was begun anew because the server gave up on it, as in a deadlock.
    pub restarts: u64,
    /// Reads that did not find what was inserted before, since the member of a replica set that was asked did not have it yet.
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
