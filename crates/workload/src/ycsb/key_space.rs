//! Which records there are, while operations insert more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ciphertax_model::YcsbTable;

/// The numbers of the records of one table. All arms of a cell that share a server share it, since what one of them
/// inserts is in the table of all.
///
/// As YCSB's `AcknowledgedCounterGenerator`, it makes only those inserted records known before which none is
/// outstanding.
#[derive(Debug)]
pub struct KeySpace {
    /// Records that were loaded.
    loaded: u64,
    /// The number of the next record to be inserted.
    next: AtomicU64,
    /// Records from 0 on that are known to be there.
    known: AtomicU64,
    /// Records that are there, but that one before is outstanding.
    early: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl KeySpace {
    /// The numbers of a table as it was loaded.
    pub fn new(table: &YcsbTable) -> Self {
        let loaded = table.record_count.into();
        Self {
            loaded,
            next: AtomicU64::new(loaded),
            known: AtomicU64::new(loaded),
            early: Mutex::default(),
        }
    }

    /// Records that were loaded.
    pub(super) fn loaded(&self) -> u64 {
        self.loaded
    }

    /// Records from 0 on that are known to be there.
    pub(super) fn known(&self) -> u64 {
        self.known.load(Ordering::Acquire)
    }

    /// The number of a record that is inserted next.
    pub(super) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that the server said that the record is there.
    pub(super) fn acknowledge(&self, number: u64) {
        // What a panic elsewhere left is a heap all the same.
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.push(Reverse(number));
        let mut known = self.known.load(Ordering::Relaxed);
        while early.peek() == Some(&Reverse(known)) {
            early.pop();
            known += 1;
        }
        self.known.store(known, Ordering::Release);
    }

    /// The records that were inserted, whether or not the server said so.
    pub(super) fn inserted(&self) -> Range<u64> {
        self.loaded..self.next.load(Ordering::Relaxed)
    }

    /// Notes that all inserted records were deleted.
    pub(super) fn trimmed(&self) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.clear();
        self.next.store(self.loaded, Ordering::Relaxed);
        self.known.store(self.loaded, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_known_when_all_before_them_are_there() {
        let keys = KeySpace::new(&YcsbTable {
            record_count: 10,
            ..YcsbTable::default()
        });
        let taken: Vec<u64> = (0..4).map(|_| keys.take()).collect();
        assert_eq!(taken, [10, 11, 12, 13]);
        for (acknowledged, known) in [(11, 10), (13, 10), (10, 12), (12, 14)] {
            keys.acknowledge(acknowledged);
            assert_eq!(keys.known(), known, "after {acknowledged}");
        }
        assert_eq!(keys.inserted(), 10..14);
        keys.take();
        keys.trimmed();
        assert_eq!((keys.known(), keys.inserted(), keys.take()), (10, 10..10, 10));
    }

    #[test]
    fn threads_that_insert_side_by_side_leave_no_gap() {
        let keys = KeySpace::new(&YcsbTable::default());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        keys.acknowledge(keys.take());
                    }
                });
            }
        });
        assert_eq!(keys.known(), keys.loaded() + 40_000);
    }
}
