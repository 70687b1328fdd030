//! Slices: what is to be measured, and what it yielded.

use std::time::Duration;

use ciphertax_model::{Arm, Cell};
use ciphertax_records::why::{Look, Profile, WaitEvents, Waits};
use ciphertax_records::{KeptOperation, Sample, SliceId};
use serde::{Deserialize, Serialize};

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
    /// How long the load lasts, but for batches and programs.
    pub(crate) duration: Duration,
    /// How it is to be looked into.
    pub(crate) look: Option<Look>,
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
