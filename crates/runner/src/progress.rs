//! What a run tells while it works.

use std::path::Path;
use std::time::Duration;

use ciphertax_records::LeftOut;

/// A step before or after measuring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Making and starting a private server, and which.
    StartingServer(String),
    /// Connecting to the user's server.
    Connecting(String),
    /// Finding out how far the counter of the server's CPU lags behind.
    SeekingResolution,
    /// Leaving out an arm that the server cannot do.
    LeavingOut(LeftOut),
    /// Writing the data set.
    Loading {
        /// Rows written.
        rows: u64,
        /// Rows in all.
        of: u64,
    },
    /// Making tables anew that have grown.
    Restoring {
        /// Rows written.
        rows: u64,
        /// Rows in all; 0 while the tables are checked first.
        of: u64,
    },
    /// Checking that tables are what they must be after what was asked of them.
    Checking,
    /// Proving an arm.
    Proving(String),
    /// Opening connections.
    Opening,
    /// Waiting until the machine is fit for measuring again, and why it is not.
    Waiting(String),
    /// Having longer slices of a cell from now on.
    Lengthening {
        /// The cell.
        cell: String,
        /// How long they are now.
        slice: Duration,
        /// Why the shorter ones did not count.
        reason: String,
    },
    /// Between slices: waiting until the servers have written what they still had to write.
    Settling,
    /// Measuring a slice, where something else comes between slices.
    Measuring {
        /// The cell.
        cell: String,
        /// The arm.
        arm: String,
    },
    /// Evaluating the samples.
    Evaluating,
    /// Removing data set and server.
    CleaningUp,
}

/// How far measuring of a cell got.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// The cell.
    pub cell: String,
    /// Complete blocks of that cell, without those that were looked into.
    pub blocks: u32,
    /// True if its latest block was looked into.
    pub looked_into: bool,
    /// The widest half-width of a CPU metric in that cell, and its target, as fractions.
    pub cpu: (Option<f64>, f64),
    /// The widest half-width of the throughput in that cell, in open loop of the mean response time, and its target, as
    /// fractions.
    pub throughput: (Option<f64>, f64),
    /// Slices that did not count so far, in all cells.
    pub void: u32,
    /// Time spent measuring.
    pub elapsed: Duration,
    /// Time that may still be spent: less if all cells become precise earlier.
    pub left: Duration,
}

/// Hears what a run does.
pub trait Progress {
    /// The run folder is there.
    fn folder(&mut self, _path: &Path) {}
    /// A step before or after measuring began, or got further.
    fn stage(&mut self, stage: &Stage);
    /// A run goes on that has blocks of a cell already.
    fn earlier(&mut self, _headline: &Headline) {}
    /// A block ended.
    fn block(&mut self, headline: &Headline);
    /// A slice did not count.
    fn void(&mut self, cell: &str, arm: &str, reason: &str);
}
