//! What servers used over a whole round, their idle time included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sample::{CpuTime, QuietPhase};

/// A round: a block of a cell whose arms have servers of their own because they differ at rest. What a server does between its
/// slices (flushing, purging) is its own arm's, so the clocks of all servers are read at the same point of every round,
/// its end; a round begins where the one before it on the same servers ended, so that no work is lost between two.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Round {
    /// Name of the cell.
    pub cell: String,
    /// Number of the block in its cell, from 0.
    pub block: u32,
    /// Begin, in nanoseconds since the run began.
    pub start_ns: u64,
    /// From the reading at its begin to that at its end, in nanoseconds.
    pub duration_ns: u64,
    /// The quiet phase before the reading at its end.
    pub quiet: QuietPhase,
    /// What each arm's server used.
    pub arms: Vec<RoundOfArm>,
}

impl Round {
    /// When it ended, in nanoseconds since the run began.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// What the server of one arm used in a round. Whatever cannot be seen is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RoundOfArm {
    /// Name of the arm.
    pub arm: String,
    /// CPU time of the server: of its process, or of all in its process tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<CpuTime>,
    /// CPU time of those that work for the file system under its folder alone: a daemon, the journal's thread. Absent where
    /// there is nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system_cpu: Option<CpuTime>,
    /// CPU time in nanoseconds of all the kernel's workers, whomever they worked for, from the begin of the arm's slice to the
    /// end of the quiet phase after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_workers_cpu_ns: Option<u64>,
    /// Bytes that the server fetched from storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Bytes that the server gave to storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Differences of the server's own counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_counters: BTreeMap<String, i64>,
}
