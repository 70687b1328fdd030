//! Which records there are, while operations insert more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ciphertax_engine::Part;
use ciphertax_model::YcsbTable;

/// Between the numbers of the first records that two parts of a load insert: more than any of them inserts before they are deleted.
const BETWEEN_PARTS: u64 = 1 << 32;

/// The records of one table that a part of a load knows. All arms of a cell that share a server share it, since what one of them
/// inserts is in the table of all. Where several processes insert, each knows what was loaded and what it has inserted itself, as
/// several clients of YCSB do.
///
/// As YCSB's `AcknowledgedCounterGenerator`, it makes only those inserted records known before which none is
/// outstanding.
#[derive(Debug)]
pub struct KeySpace {
    /// Records that were loaded.
    loaded: u64,
    /// How much larger the number of an inserted record is than its index.
    skipped: u64,
    /// The index of the next record to be inserted.
    next: AtomicU64,
    /// Records from index 0 on that are known to be there.
    known: AtomicU64,
    /// Indices of records that are there, but that one before is outstanding.
    early: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl KeySpace {
    /// What a load that one process makes knows of a table as it was loaded.
    pub fn new(table: &YcsbTable) -> Self {
        Self::of_part(table, Part::WHOLE)
    }

    /// What one of several processes knows of it.
    pub fn of_part(table: &YcsbTable, part: Part) -> Self {
        let loaded = table.record_count.into();
        Self {
            loaded,
            skipped: Self::first_inserted(table, part.index()) - loaded,
            next: AtomicU64::new(loaded),
            known: AtomicU64::new(loaded),
            early: Mutex::default(),
        }
    }

    /// The number of the first record that the part of this number inserts.
    pub(crate) fn first_inserted(table: &YcsbTable, part: u32) -> u64 {
        u64::from(table.record_count) + u64::from(part) * BETWEEN_PARTS
    }

    pub(super) fn loaded(&self) -> u64 {
        self.loaded
    }

    /// The number of the record with this index.
    pub(super) fn number(&self, index: u64) -> u64 {
        match index < self.loaded {
            true => index,
            false => index + self.skipped,
        }
    }

    /// Records from index 0 on that are known to be there.
    pub(super) fn known(&self) -> u64 {
        self.known.load(Ordering::Acquire)
    }

    /// The index of a record that is inserted next.
    pub(super) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn acknowledge(&self, index: u64) {
        // What a panic elsewhere left is a heap all the same.
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.push(Reverse(index));
        let mut known = self.known.load(Ordering::Relaxed);
        while early.peek() == Some(&Reverse(known)) {
            early.pop();
            known += 1;
        }
        self.known.store(known, Ordering::Release);
    }

    /// The numbers of the records that were inserted, whether or not the server said so.
    pub(super) fn inserted(&self) -> Range<u64> {
        self.number(self.loaded)..self.number(self.next.load(Ordering::Relaxed))
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
    use std::collections::HashSet;

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
    fn parts_know_what_was_loaded_and_insert_nothing_twice() {
        let table = YcsbTable {
            record_count: 10,
            ..YcsbTable::default()
        };
        let parts = (0..3).map(|index| KeySpace::of_part(&table, Part::new(index, 3).unwrap()));
        let mut numbers = HashSet::new();
        for keys in parts {
            let first = (0..10).map(|index| keys.number(index)).collect::<Vec<_>>();
            assert_eq!(first, (0..10).collect::<Vec<_>>());
            assert!(keys.inserted().is_empty());
            for _ in 0..1000 {
                let index = keys.take();
                keys.acknowledge(index);
                assert!(numbers.insert(keys.number(index)));
            }
            assert_eq!(keys.known(), 1010);
            let inserted: Vec<u64> = keys.inserted().collect();
            assert!(inserted.len() == 1000 && inserted.iter().all(|number| numbers.contains(number)));
        }
        assert_eq!(numbers.len(), 3000);
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
