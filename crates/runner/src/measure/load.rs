//! What makes the load of a cell.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_engine::{Engine, Failure, SliceYield};
use ciphertax_records::{CpuTime, VoidReason};

use crate::error::RunError;

/// What makes the load of a cell: load threads, or a program of the user's own.
pub(crate) trait Load {
    /// Load threads of ciphertax.
    fn workers(&self) -> u32;

    /// Makes sure that an arm can be measured. The inner error is a reason for a void slice.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, RunError>;

    /// Load on one arm for `duration`, or for as long as a batch or a program takes. Whoever wants to stop cuts it short.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn slice(&mut self, arm: usize, duration: Duration) -> Result<Slice, RunError>;

    /// Holds a slice to its arm by what was seen of it elsewhere. Load threads see for themselves.
    fn judge(&self, _arm: usize, _slice: &mut Slice, _seen: &Seen<'_>) {}
}

/// What a slice yielded, and why it does not count if that is known already.
pub(crate) struct Slice {
    pub(crate) yielded: SliceYield,
    pub(crate) void: Option<VoidReason>,
}

/// What was seen of a slice besides its yield.
pub(crate) struct Seen<'a> {
    /// The server's own counters at its end.
    pub(crate) counters: &'a BTreeMap<String, i64>,
    /// What they rose by.
    pub(crate) change: &'a BTreeMap<String, i64>,
    /// CPU time of the arm's tunnel; `None` without one.
    pub(crate) tunnel_cpu: Option<CpuTime>,
}

impl Load for Engine {
    fn workers(&self) -> u32 {
        self.workers()
    }

    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, RunError> {
        Ok(self.prepare(arm)?)
    }

    fn slice(&mut self, arm: usize, duration: Duration) -> Result<Slice, RunError> {
        Ok(Slice {
            yielded: self.slice(arm, duration)?,
            void: None,
        })
    }
}
