//! Numbers that are in step with nothing.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// A generator of numbers that nobody has to be unable to guess.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// One that differs from all others.
    pub(super) fn new() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// Any number below 2^32.
    pub(super) fn next(&mut self) -> u64 {
        // Knuth's constants of MMIX; the upper half is the better one.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    /// Any time below this one.
    pub(super) fn below(&mut self, time: Duration) -> Duration {
        time.mul_f64(self.next() as f64 / 2_f64.powi(32))
    }
}
