//! What is measured next, what counts, and when it is enough: whoever measures is behind [`Measure`], so none of this knows
//! a database, a process or a clock.

mod course;
mod open_loop;
mod rounds;
#[cfg(test)]
mod tests;
mod void;

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_engine::KeptOperation;
use ciphertax_model::{Arm, Cell};
use ciphertax_records::{CpuTime, Sample};

use crate::error::RunError;

pub(crate) use course::Course;
pub(crate) use rounds::Rounds;
pub(crate) use void::{Outcome, reason_of, void_reason};

/// Who measures the slices of a run's cells, and how its time passes.
pub(crate) trait Measure {
    /// Time since the run began. What lay between the parts of one that goes on is left out.
    fn elapsed(&self) -> Duration;

    /// Waits, but no longer than until somebody wants to stop.
    fn wait(&mut self, time: Duration);

    /// True once somebody wants to stop.
    fn is_stopped(&self) -> bool;

    /// Makes the servers of a cell, by its index, ready for a block of it.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn begin_block(&mut self, cell: usize) -> Result<(), RunError>;

    /// Measures a slice of a cell, by its index. What goes wrong with the server makes the slice void.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn slice(&mut self, cell: usize, slice: &SliceId<'_>) -> Result<Measured, RunError>;
}

/// Which slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceId<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) arm: &'a Arm,
    /// Index of the arm in its cell.
    pub(crate) arm_index: usize,
    pub(crate) block: u32,
    /// Position in the block.
    pub(crate) position: u32,
}

impl SliceId<'_> {
    /// That of a slice of which nothing is known.
    pub(crate) fn empty_sample(&self) -> Sample {
        Sample {
            cell: self.cell.name.clone(),
            block: self.block,
            position: self.position,
            arm: self.arm.name.clone(),
            start_ns: 0,
            duration_ns: 0,
            operations: Vec::new(),
            client_cpu: CpuTime::default(),
            server_cpu: None,
            tunnel_cpu: None,
            bytes_sent: 0,
            bytes_received: 0,
            client_context_switches: 0,
            server_context_switches: None,
            client_run_queue_wait_ns: None,
            server_run_queue_wait_ns: None,
            server_counters: BTreeMap::new(),
            steal_ns: 0,
            workers: 0,
            logins: BTreeMap::new(),
            handshakes: None,
            queries: 0,
            restarts: 0,
            stale_reads: 0,
            phases: Vec::new(),
            open_loop: None,
            client_bound: false,
            void: None,
        }
    }
}

/// What a slice yielded.
pub(crate) struct Measured {
    pub(crate) sample: Sample,
    /// Every single operation, where they are kept.
    pub(crate) kept: Vec<KeptOperation>,
}

/// The time from the beginning of a run to the end of its last sample.
pub(crate) fn time_of(samples: &[Sample]) -> Duration {
    let ends = samples.iter().map(|sample| sample.start_ns + sample.duration_ns);
    Duration::from_nanos(ends.max().unwrap_or(0))
}
