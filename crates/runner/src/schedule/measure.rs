//! Who measures slices: what is to be measured, and what it yielded.

use std::time::Duration;

use ciphertax_model::{Arm, Cell};
use ciphertax_records::why::{Look, Profile, SymbolTable, WaitEvents, Waits};
use ciphertax_records::{KeptOperation, QuietPhase, Round, Sample, SliceId};
use serde::{Deserialize, Serialize};

use crate::error::Result;
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
    fn begin_block(&mut self, cell: usize) -> Result<()>;

    /// Has tables that have grown too large as they were, all of them at once. The time that takes is no time of the run.
    ///
    /// # Errors
    /// When they are not what they must be after what was asked of them, or the server refuses.
    fn restore(&mut self, _cell: usize, _progress: &mut dyn Progress) -> Result<()> {
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
    fn slice(&mut self, cell: usize, slice: &PlannedSlice<'_>) -> Result<Measured>;
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedSlice<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) arm: &'a Arm,
    /// Index of the arm in its cell.
    pub(crate) arm_index: usize,
    pub(crate) block: u32,
    /// Position in the block.
    pub(crate) position: u32,
    /// How long the load lasts, but for batches and programs.
    pub(crate) duration: Duration,
    /// How it is to be looked into.
    pub(crate) look: Option<Look>,
}

impl PlannedSlice<'_> {
    pub(crate) fn id(&self) -> SliceId {
        SliceId {
            cell: self.cell.name.clone(),
            block: self.block,
            position: self.position,
            arm: self.arm.name.clone(),
        }
    }
}

pub(crate) struct Measured {
    pub(crate) sample: Sample,
    /// Operations whose end nobody saw; `None` where not even their number is known, since a load generator is lost.
    pub(crate) unfinished: Option<u64>,
    /// Every single operation, where they are kept.
    pub(crate) kept: Vec<KeptOperation>,
    /// What was seen when it was looked into.
    pub(crate) looked: Looked,
}

/// What was seen in a slice.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Looked {
    pub(crate) profile: Option<Profile>,
    pub(crate) waits: Option<Waits>,
}

impl Looked {
    /// Adds what was seen of another side on another machine.
    pub(crate) fn add(&mut self, other: Self) {
        match (&mut self.profile, other.profile) {
            (Some(profile), Some(other)) => profile.sides.extend(other.sides),
            (profile, other) => *profile = profile.take().or(other),
        }
        self.waits = self.waits.take().or(other.waits);
    }

    /// Adds what the server itself said, also where nobody saw its threads.
    pub(crate) fn add_wait_events(&mut self, slice: &SliceId, events: Option<WaitEvents>) {
        if events.is_some() {
            let waits = self.waits.get_or_insert_with(|| Waits::unseen(slice.clone()));
            waits.events = events;
        }
    }
}
