//! Slices: what is to be measured, and what it yielded.

use ciphertax_model::{Arm, Cell};
use ciphertax_records::{KeptOperation, Sample, SliceId};

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
