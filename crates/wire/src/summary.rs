//! How much an answer held.

/// How much an answer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResultSummary {
    /// Rows.
    pub rows: u64,
    /// Bytes of all rows, as the protocol carries them.
    pub row_bytes: u64,
    /// Rows that the statement changed; 0 for one that asks.
    pub affected_rows: u64,
}
