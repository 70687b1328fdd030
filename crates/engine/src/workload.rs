//! What the engine drives.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use ciphertax_reactor::Reactor;

use crate::operation::{Failure, Operation};
use crate::recorder::Recorder;

/// What one connection does over and over. One value an arm, shared by all load threads.
pub trait Workload: Send + Sync + 'static {
    /// What lives as long as a connection.
    type Connection;

    /// The kinds of operations, by the names used in records.
    const KINDS: &'static [&'static str];

    /// Whether the operations of a batch are dealt: each connection then does as many as any other, and not whoever is free
    /// the next, so that all arms of a block do the same.
    const DEALT: bool = false;

    /// Whether there is something to [check](Self::check) before every slice.
    const CHECKS: bool = false;

    /// Opens a connection and makes sure that it is what the arm says.
    fn open(
        &self,
        reactor: &Rc<Reactor>,
        slot: Slot,
    ) -> impl Future<Output = Result<Self::Connection, Failure>>;

    /// Called for every connection at the beginning of every slice, before the measured time.
    fn begin(&self, _connection: &mut Self::Connection, _deal: Deal) {}

    /// How long the connection rests before its next operation begins, which is no part of its latency; asked once before
    /// each. On a schedule nobody rests.
    fn pause(&self, _connection: &mut Self::Connection) -> Duration {
        Duration::ZERO
    }

    /// Does one operation, from the request to the whole answer.
    fn operate(
        &self,
        reactor: &Rc<Reactor>,
        connection: &mut Self::Connection,
        recorder: &RefCell<Recorder>,
    ) -> impl Future<Output = Result<Operation, Failure>>;

    /// Brings to its end what the connection's operations have left to their servers, at the end of every slice.
    fn settle(
        &self,
        _connection: &mut Self::Connection,
        _recorder: &RefCell<Recorder>,
    ) -> impl Future<Output = ()> {
        async {}
    }

    /// Makes sure, outside the measured time and once before every slice, that new connections are what the arm says. Called where
    /// [`Self::CHECKS`] says so.
    fn check(&self, _reactor: &Rc<Reactor>) -> impl Future<Output = Result<(), Failure>> {
        async { Ok(()) }
    }
}

/// What a connection is to do in a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    /// Of the block: the same for every connection of every arm in it.
    pub seed: u64,
    /// The operations of the connection, where those of a batch are dealt; `None` where it goes on until the slice ends.
    pub operations: Option<u64>,
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
