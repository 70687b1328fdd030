//! How hard a database is asked.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How hard a database is asked: a closed loop, in which every connection sends its next request when the last was
/// answered, unless `rate` says when operations begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Connections of each arm; for workloads that make connections, connections being opened at a time.
    pub connections: u32,
    /// Load threads; `None` lets the engine choose by connections and CPUs. Together with its server the load has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// How long a load thread waits for more sockets to become ready before it answers them all, in microseconds.
    /// The same for all arms. 0 answers each as soon as it is ready.
    #[serde(default)]
    pub poll_delay_us: u32,
    /// Operations of a slice, all connections together, instead of a time: a batch, done as fast as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Operations begun per second, all connections together, at even distances: an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
}

impl Load {
    /// How many connections there may be.
    pub const CONNECTIONS: RangeInclusive<u32> = 1..=100_000;
    /// How long a load thread may wait, in microseconds.
    pub const POLL_DELAY_US: RangeInclusive<u32> = 0..=10_000;
    /// How many operations a batch may have; never fewer than connections.
    pub const BATCH: RangeInclusive<u32> = 1..=1_000_000;
    /// How many operations may begin per second.
    pub const RATE: RangeInclusive<u32> = 1..=1_000_000;

    /// A closed loop over so many connections.
    pub const fn closed(connections: u32) -> Self {
        Self {
            connections,
            workers: None,
            poll_delay_us: 0,
            batch: None,
            rate: None,
        }
    }

    /// True where a cell says none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// When operations begin, and what ends a slice. No validated load says both `batch` and `rate`.
    pub const fn pace(&self) -> Pace {
        match (self.batch, self.rate) {
            (Some(operations), _) => Pace::Batch { operations },
            (None, Some(rate)) => Pace::Open { rate },
            (None, None) => Pace::Closed,
        }
    }
}

/// When operations begin, and what ends a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Pace {
    /// A closed loop: each operation of a connection begins when the one before has ended, for the time of a slice.
    #[default]
    Closed,
    /// The same until so many operations are done.
    Batch {
        /// Operations of a slice, all connections together.
        operations: u32,
    },
    /// An open loop: operations begin at given times, whether or not those before have ended.
    Open {
        /// Operations per second, all connections together.
        rate: u32,
    },
}
