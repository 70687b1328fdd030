//! Waking tasks at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// The tasks that sleep.
#[derive(Default)]
pub(crate) struct Alarms {
    /// When, and whom to wake; the next on top.
    sleeping: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Alarms {
    pub(crate) fn add(&mut self, instant: Instant, task: u32) {
        self.sleeping.push(Reverse((instant, task)));
    }

    /// Forgets the sleepers of an earlier run.
    pub(crate) fn clear(&mut self) {
        self.sleeping.clear();
    }

    /// When the next sleeper is to be woken.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.sleeping.peek().map(|Reverse((instant, _))| *instant)
    }

    /// Wakes those whose time has come.
    pub(crate) fn wake(&mut self, ready: &mut Vec<u32>) {
        if self.sleeping.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(Reverse((_, task))) = self
            .sleeping
            .peek()
            .filter(|Reverse((instant, _))| *instant <= now)
        {
            ready.push(*task);
            self.sleeping.pop();
        }
    }
}
