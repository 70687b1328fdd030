//! Who measures.

use std::time::Duration;

use super::slice::{Measured, PlannedSlice};
use crate::error::RunError;

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
