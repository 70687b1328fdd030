//! What is measured next, what counts, and when it is enough: whoever measures is behind [`Measure`], so none of this knows
//! a database, a process or a clock.

mod course;
mod open_loop;
mod rounds;
#[cfg(test)]
mod tests;
mod void;

use std::time::Duration;

use ciphertax_model::{Arm, Cell};
use ciphertax_records::{KeptOperation, Sample, SliceId};

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
    fn slice(&mut self, cell: usize, slice: &PlannedSlice<'_>) -> Result<Measured, RunError>;
}

/// A slice that is to be measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedSlice<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) arm: &'a Arm,
    /// Index of the arm in its cell.
    pub(crate) arm_index: usize,
    pub(crate) block: u32,
    /// Position in the block.
    pub(crate) position: u32,
}

impl PlannedSlice<'_> {
    /// What records call it.
    pub(crate) fn id(&self) -> SliceId {
        SliceId {
            cell: self.cell.name.clone(),
            block: self.block,
            position: self.position,
            arm: self.arm.name.clone(),
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
    Duration::from_nanos(samples.iter().map(Sample::end_ns).max().unwrap_or(0))
}
