//! A buffer that is filled at one end and read at the other.

/// Bytes received and not yet read. It starts small and doubles when a read fills it, so that a connection costs
/// little until its answers are large.
#[derive(Debug)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The last read took all the space offered: more is likely to be waiting.
    filled: bool,
}

/// Most answers to a point select, an insert or a commit fit. With ten thousand connections every kilobyte is ten megabytes.
const INITIAL: usize = 2 * 1024;
const GROW_UNTIL: usize = 256 * 1024;

impl ReadBuffer {
    pub(crate) fn new() -> Self {
        Self::with_room(INITIAL)
    }

    /// One that begins with room for so many bytes.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self {
            bytes: vec![0; bytes],
            start: 0,
            end: 0,
            filled: false,
        }
    }

    /// What was received and not yet consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The same, for those who decrypt in place.
    pub(crate) fn unread_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start, "consumed more than was received");
        self.start += count;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Space for more, never none, such that at least `needed` unread bytes fit in all.
    pub(crate) fn spare(&mut self, needed: usize) -> &mut [u8] {
        let mut capacity = self.bytes.len();
        if self.filled && capacity < GROW_UNTIL {
            capacity *= 2;
        }
        capacity = capacity.max(needed.next_multiple_of(INITIAL));
        if capacity > self.bytes.len() {
            self.bytes.resize(capacity, 0);
        }
        if self.start > 0 && (self.start + needed > self.bytes.len() || self.end == self.bytes.len()) {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Gives back what it has grown by, if nothing is in it: what comes next is not as what came.
    pub(crate) fn shrink(&mut self) {
        if self.unread().is_empty() && self.bytes.len() > INITIAL {
            *self = Self::new();
        }
    }

    /// Notes that `count` bytes were written to the space that [`ReadBuffer::spare`] gave.
    pub(crate) fn filled(&mut self, count: usize) {
        self.filled = self.end + count == self.bytes.len();
        self.end += count;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out_in_order(steps in prop::collection::vec((1_usize..40_000, 1_usize..40_000), 1..60)) {
            let mut buffer = ReadBuffer::new();
            let (mut written, mut read) = (0_u64, 0_u64);
            for (fill, take) in steps {
                let spare = buffer.spare(buffer.unread().len() + 1);
                prop_assert!(!spare.is_empty());
                let count = fill.min(spare.len());
                for byte in &mut spare[..count] {
                    *byte = (written % 251) as u8;
                    written += 1;
                }
                buffer.filled(count);
                let take = take.min(buffer.unread().len());
                for byte in &buffer.unread()[..take] {
                    prop_assert_eq!(*byte, (read % 251) as u8);
                    read += 1;
                }
                buffer.consume(take);
            }
        }

        #[test]
        fn one_that_is_shrunk_holds_what_it_held(unread in 0_usize..40_000, taken in 0_usize..40_000) {
            let mut buffer = ReadBuffer::new();
            buffer.spare(unread)[..unread].fill(7);
            buffer.filled(unread);
            buffer.consume(taken.min(unread));
            buffer.shrink();
            prop_assert_eq!(buffer.unread().len(), unread - taken.min(unread));
            prop_assert!(buffer.unread().iter().all(|byte| *byte == 7));
            prop_assert!(taken < unread || buffer.bytes.len() == INITIAL);
        }

        #[test]
        fn needed_space_is_always_there(unread in 0_usize..8000, needed in 1_usize..3_000_000) {
            let mut buffer = ReadBuffer::new();
            buffer.spare(unread);
            buffer.filled(unread);
            buffer.consume(unread / 2);
            let left = buffer.unread().len();
            let needed = needed.max(left + 1);
            prop_assert!(buffer.spare(needed).len() + left >= needed);
        }
    }
}
