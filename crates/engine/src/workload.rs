//! What the engine drives: operations, and the part of a load that one process does.

use std::cell::RefCell;
use std::ops::AddAssign;
use std::rc::Rc;
use std::time::Duration;

use ciphertax_reactor::Reactor;
use serde::{Deserialize, Serialize};

use crate::recorder::Recorder;

/// What one connection does over and over. One value an arm, shared by all load threads.
pub trait Workload: Send + Sync + 'static {
    /// What lives as long as a connection.
    type Connection;

    /// The kinds of operations, by the names used in records.
    const KINDS: &'static [&'static str];

    /// What its operations count besides, by the names used in records: at most [`MOST_COUNTS`].
    const COUNTS: &'static [&'static str] = &[];

    /// Whether the operations of a batch are dealt: each connection then does as many as any other, and not whoever is free
    /// the next, so that all arms of a block do the same.
    const DEALT: bool = false;

    /// Whether there is something to [check](Self::check) before every slice.
    const CHECKS: bool = false;

    /// Whether a run may [close](Self::close) its connections between blocks and open new ones.
    const RENEWS: bool = false;

    /// Opens a connection and makes sure that it is what the arm says.
    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection>;

    /// Called for every connection at the beginning of every slice, before the measured time.
    fn begin(&self, _connection: &mut Self::Connection, _deal: Deal) {}

    /// How long the connection rests before its next operation begins, which is no part of its latency; asked once before
    /// each. On a schedule nobody rests.
    fn pause(&self, _connection: &mut Self::Connection) -> Duration {
        Duration::ZERO
    }

    /// Does one operation, from the request to the whole answer.
    async fn operate(&self, connection: &mut Self::Connection, context: &Context) -> Result<Operation>;

    /// Brings to its end what the connection's operations have left to their servers, at the end of every slice.
    async fn settle(&self, _connection: &mut Self::Connection, _: &Context) {}

    /// Takes leave of the server, outside the measured time. Called where [`Self::RENEWS`] says so.
    async fn close(&self, _connection: Self::Connection) {}

    /// Makes sure, outside the measured time and once before every slice, that new connections are what the arm says. Called where
    /// [`Self::CHECKS`] says so.
    async fn check(&self, _reactor: &Rc<Reactor>) -> Result<()> {
        Ok(())
    }
}

/// What a slice's operations on one load thread share.
pub struct Context {
    /// Their event loop.
    pub reactor: Rc<Reactor>,
    /// What counts them.
    pub recorder: RefCell<Recorder>,
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

/// The most counts that a workload may have of its own: they lie in each operation.
pub const MOST_COUNTS: usize = 5;

/// An operation that succeeded; or the sum of several, of whatever kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operation {
    /// Index in the workload's kinds.
    pub kind: usize,
    /// Statements answered for it.
    pub queries: u64,
    /// Times it was begun anew because the server gave up on it, as in a deadlock.
    pub restarts: u64,
    /// What its workload counts besides, in the order of [`Workload::COUNTS`].
    pub counts: [u64; MOST_COUNTS],
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
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}

/// Result of what a connection does.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// An operation that failed; its connection is not used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// One process's part of a load: an even share of its connections, in their order, and every so many operations of its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    index: u32,
    of: u32,
}

impl Part {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Part number `index` of `of`, from 0; `None` if there is none of that number.
    pub fn new(index: u32, of: u32) -> Option<Self> {
        (index < of).then_some(Self { index, of })
    }

    /// Its number, from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Those of many things that are its own where parts take turns.
    pub fn own<T>(self, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        all.skip(self.index as usize).step_by(self.of as usize)
    }

    /// A seed of its own; of the whole, and of the first part, the one that is given.
    pub(crate) fn seed(self, seed: u64) -> u64 {
        seed ^ (u64::from(self.index) << 48)
    }

    /// How many of so many things are its own.
    pub fn share_of(self, all: u32) -> u32 {
        all / self.of + u32::from(self.index < all % self.of)
    }

    /// How many of them belong to the parts before it.
    pub(crate) fn before(self, all: u32) -> u32 {
        all / self.of * self.index + self.index.min(all % self.of)
    }

    /// The number among all things of its own number so and so, where parts take turns.
    pub(crate) fn in_turn(self, own: u64) -> Option<u64> {
        own.checked_mul(self.of.into())?.checked_add(self.index.into())
    }

    /// How many of so many things are its own where parts take turns.
    pub(crate) fn turns_in(self, all: u64) -> u64 {
        all.saturating_sub(self.index.into()).div_ceil(self.of.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(of: u32) -> impl Iterator<Item = Part> {
        (0..of).map(move |index| Part::new(index, of).unwrap())
    }

    #[test]
    fn parts_are_the_whole_with_nothing_twice() {
        for of in 1..9 {
            for all in 0..30 {
                let mut next = 0;
                for part in parts(of) {
                    assert_eq!(part.before(all), next);
                    next += part.share_of(all);
                }
                assert_eq!(next, all);
                let turns = parts(of).flat_map(|part| {
                    (0..part.turns_in(all.into())).map(move |own| part.in_turn(own).unwrap())
                });
                let mut turns: Vec<u64> = turns.collect();
                turns.sort_unstable();
                assert_eq!(turns, (0..all.into()).collect::<Vec<u64>>());
            }
        }
        assert_eq!(Part::new(3, 3), None);
    }
}
