//! What is remembered of a server's counters.

use std::cell::Cell;

/// What is remembered from one reading of the counters to the next.
#[derive(Default)]
pub(super) struct Readings {
    /// Transactions that asked for them so far.
    pub(super) asked: Cell<i64>,
    /// Sessions of programs and others that there were at the last one.
    pub(super) others: Cell<Option<u64>>,
}
