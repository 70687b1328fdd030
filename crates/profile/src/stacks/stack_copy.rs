//! A copy of a thread's stack.

use super::maps::u64_at;

/// Memory from `start` on, as it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackCopy<'a> {
    pub(super) start: u64,
    pub(super) bytes: &'a [u8],
}

impl StackCopy<'_> {
    /// The eight bytes at an address, if they were copied.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        u64_at(self.bytes, self.offset(address)?)
    }

    /// The bytes at an address as a number, up to eight.
    pub(super) fn number(&self, address: u64, length: u8) -> Option<u64> {
        let start = self.offset(address)?;
        let bytes = self.bytes.get(start..start.checked_add(length.into())?)?;
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    /// The addresses of all words from one on.
    pub(super) fn words_from(&self, address: u64) -> impl Iterator<Item = u64> + use<> {
        let first = address
            .max(self.start)
            .checked_next_multiple_of(8)
            .unwrap_or(u64::MAX);
        let end = self.start.saturating_add(self.bytes.len() as u64);
        (first..end.saturating_sub(7)).step_by(8)
    }

    fn offset(&self, address: u64) -> Option<usize> {
        usize::try_from(address.checked_sub(self.start)?).ok()
    }
}
