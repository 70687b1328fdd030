//! How many cells.

/// How many cells were encrypted and decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellCounts {
    /// Cells made of plaintexts.
    pub encrypted: u64,
    /// Cells made plaintexts.
    pub decrypted: u64,
}
