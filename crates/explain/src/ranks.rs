//! What several load generators did of a cell, one by one.

use std::collections::BTreeMap;

use ciphertax_records::{RankShare, Sample};

/// Of the slices of a cell that count.
#[derive(Default)]
pub(crate) struct Ranks {
    slices: u32,
    /// The furthest that they began apart in a slice, in nanoseconds.
    pub(crate) began_apart_ns: u64,
    /// In how many slices each was the bottleneck.
    bound: BTreeMap<u32, u32>,
}

impl Ranks {
    pub(crate) fn add(&mut self, sample: &Sample) {
        let shares = &sample.load.ranks;
        if shares.is_empty() || !sample.is_valid() {
            return;
        }
        self.slices += 1;
        let apart = shares.iter().map(|share| share.began_after_ns).max();
        self.began_apart_ns = self.began_apart_ns.max(apart.unwrap_or(0));
        for RankShare { rank, .. } in shares.iter().filter(|share| share.client_bound) {
            *self.bound.entry(*rank).or_default() += 1;
        }
    }

    /// True if several load generators made its load.
    pub(crate) fn are_many(&self) -> bool {
        self.slices > 0
    }

    /// Those that were the bottleneck in more than half of the slices.
    pub(crate) fn bottlenecks(&self) -> Vec<u32> {
        let most = self.bound.iter().filter(|(_, slices)| **slices * 2 > self.slices);
        most.map(|(rank, _)| *rank).collect()
    }
}
