//! Blocks of a cell that were looked into. They are no part of what a feature costs, but they take time.

use std::collections::BTreeSet;

use ciphertax_model::Profiling;
use ciphertax_records::Sample;

/// What the forecast of a cell must know of them.
#[derive(Default)]
pub(crate) struct Looked {
    blocks: BTreeSet<u32>,
    void_slices: u32,
}

impl Looked {
    /// Takes note of a slice that was looked into.
    pub(crate) fn add(&mut self, sample: &Sample) {
        self.blocks.insert(sample.slice.block);
        self.void_slices += u32::from(!sample.is_valid());
    }

    /// True if a slice of this block was looked into.
    pub(crate) fn has(&self, block: u32) -> bool {
        self.blocks.contains(&block)
    }

    /// Those of them that do not count.
    pub(crate) fn void_slices(&self) -> u32 {
        self.void_slices
    }

    /// How many blocks run until so many more are measured. Before the first that is looked into it is not known whether any will
    /// be.
    pub(crate) fn blocks_with(&self, more: u32) -> f64 {
        if self.blocks.is_empty() {
            return f64::from(more);
        }
        let one_in = f64::from(Profiling::ONE_BLOCK_IN);
        f64::from(more) * one_in / (one_in - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_one_was_looked_into_three_blocks_of_four_are_measured() {
        assert_eq!(Looked::default().blocks_with(30), 30.0);
        let looked = Looked {
            blocks: [7, 10].into(),
            void_slices: 0,
        };
        assert_eq!(looked.blocks_with(30), 40.0);
    }
}
