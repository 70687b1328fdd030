//! Who measures.

use std::time::Duration;

use ciphertax_records::why::SymbolTable;
use ciphertax_records::{QuietPhase, Round};

use super::slice::{Measured, PlannedSlice};
use crate::error::RunError;
use crate::progress::Progress;

/// Who measures the slices of a run's cells, and how its time passes.
pub(crate) trait Measure {
    /// Time since the run began. What lay between the parts of one that goes on is left out.
    fn elapsed(&self) -> Duration;

    /// Waits, but no longer than until somebody wants to stop.
    fn wait(&mut self, time: Duration);

    /// True once somebody wants to stop.
    fn is_stopped(&self) -> bool;

    /// Makes the servers of a cell, by its index, ready for a block of it, which begins its round if it is the first on these
    /// servers.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn begin_block(&mut self, cell: usize) -> Result<(), RunError>;

    /// Has tables that have grown too large as they were, all of them at once. The time that takes is no time of the run.
    ///
    /// # Errors
    /// When they are not what they must be after what was asked of them, or the server refuses.
    fn restore(&mut self, _cell: usize, _progress: &mut dyn Progress) -> Result<(), RunError> {
        Ok(())
    }

    /// True if the arms of a cell have servers of their own because they differ at rest: then its blocks are rounds.
    fn has_rounds(&self, cell: usize) -> bool;

    /// True if part of what the servers of a cell use is only known in ticks of 10 ms, so that short slices tell little of it.
    fn counts_in_ticks(&mut self, _cell: usize) -> bool {
        false
    }

    /// Waits until the servers of a cell with rounds stand still, but for that of the arm whose slice comes next; no longer
    /// than is bearable.
    fn quiet(&mut self, cell: usize, next: Option<&PlannedSlice<'_>>) -> QuietPhase;

    /// What each server of a cell with rounds has used since the round before.
    fn end_round(&mut self, cell: usize, block: u32, quiet: QuietPhase) -> Round;

    /// The names and stacks of what was seen in slices that were looked into.
    fn symbols(&self) -> &SymbolTable;

    /// Measures a slice of a cell, by its index. What goes wrong with the server makes the slice void.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn slice(&mut self, cell: usize, slice: &PlannedSlice<'_>) -> Result<Measured, RunError>;
}
