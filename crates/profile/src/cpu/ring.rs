//! The memory into which the kernel writes the records of one CPU.

use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, ptr};

use ciphertax_observe::perf_event::Event;
use ciphertax_observe::perf_event::bindings::perf_event_mmap_page;
use memmap2::{MmapOptions, MmapRaw};

use super::event::{self, HEADER_BYTES};

/// A page with the kernel's position and ours, and after it the records, around and around.
#[derive(Debug)]
pub(super) struct Ring {
    memory: MmapRaw,
    page: usize,
    size: usize,
    /// Where a record is put together that lies at the end and at the begin.
    whole: Vec<u8>,
    /// Whose ring it is; absent in tests.
    pub(super) owner: Option<Arc<Event>>,
}

/// A record had a length that cannot be: what followed it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

impl Ring {
    /// A ring of `size` bytes, which is a power of two and at least a page.
    pub(super) fn map(owner: Arc<Event>, size: usize) -> io::Result<Self> {
        use std::os::fd::AsFd;
        let page = usize::try_from(procfs::page_size()).unwrap_or(4096);
        let memory = MmapOptions::new()
            .len(page + size)
            .no_probe_handle()
            .map_raw(owner.as_fd().as_raw_fd())?;
        Ok(Self::new(memory, page, size, Some(owner)))
    }

    fn new(memory: MmapRaw, page: usize, size: usize, owner: Option<Arc<Event>>) -> Self {
        debug_assert!(size.is_power_of_two() && memory.len() >= page + size);
        Self {
            memory,
            page,
            size,
            whole: Vec::new(),
            owner,
        }
    }

    /// Where the kernel will write next, in bytes since the ring was made.
    pub(super) fn head(&self) -> u64 {
        self.position(offset_of!(perf_event_mmap_page, data_head))
            .load(Ordering::Acquire)
    }

    /// Bytes that the kernel can still write before something is read.
    pub(super) fn free(&self) -> usize {
        let used = self.head().wrapping_sub(self.tail());
        self.size
            .saturating_sub(usize::try_from(used).unwrap_or(self.size))
    }

    pub(super) fn is_half_full(&self) -> bool {
        self.free() <= self.size / 2
    }

    pub(super) fn clear(&mut self) {
        self.set_tail(self.head());
    }

    /// Reads the records up to a position, each of which the kernel may overwrite as soon as it was read.
    ///
    /// # Errors
    /// If one has a length that cannot be; those up to the position are then given up.
    pub(super) fn read(&mut self, up_to: u64, mut each: impl FnMut(&[u8])) -> Result<(), Malformed> {
        let mut at = self.tail();
        while at != up_to {
            let Some(length) = self.length_at(at, up_to) else {
                self.set_tail(up_to);
                return Err(Malformed);
            };
            let mut whole = std::mem::take(&mut self.whole);
            each(self.record(at, length, &mut whole));
            self.whole = whole;
            at = at.wrapping_add(length as u64);
            self.set_tail(at);
        }
        Ok(())
    }

    /// Reads the records up to a position, which stay.
    pub(super) fn look(&self, up_to: u64, mut each: impl FnMut(&[u8])) {
        let mut whole = Vec::new();
        let mut at = self.tail();
        while at != up_to {
            let Some(length) = self.length_at(at, up_to) else {
                return;
            };
            each(self.record(at, length, &mut whole));
            at = at.wrapping_add(length as u64);
        }
    }

    fn tail(&self) -> u64 {
        // Nobody else writes it.
        self.position(offset_of!(perf_event_mmap_page, data_tail))
            .load(Ordering::Relaxed)
    }

    fn set_tail(&self, tail: u64) {
        self.position(offset_of!(perf_event_mmap_page, data_tail))
            .store(tail, Ordering::Release);
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset + size_of::<u64>() <= self.page);
        // SAFETY: the first page holds these numbers, aligned to their size; the kernel and this program access them in one
        // piece, and it stays mapped as long as `self` lives.
        unsafe { AtomicU64::from_ptr(self.memory.as_mut_ptr().add(offset).cast()) }
    }

    /// Length of the record at a position; `None` if it cannot be.
    fn length_at(&self, at: u64, up_to: u64) -> Option<usize> {
        let rest = usize::try_from(up_to.wrapping_sub(at)).ok()?;
        if rest > self.size || rest < HEADER_BYTES {
            return None;
        }
        let mut header = [0; HEADER_BYTES];
        self.copy(at, &mut header);
        let length = event::length(header);
        (HEADER_BYTES..=rest).contains(&length).then_some(length)
    }

    /// The bytes of a record, which lies between our position and the kernel's.
    fn record<'a>(&'a self, at: u64, length: usize, whole: &'a mut Vec<u8>) -> &'a [u8] {
        let begin = self.offset(at);
        if begin + length <= self.size {
            // SAFETY: it lies within the mapping, and the kernel does not write to what was not read yet, which it is not
            // before the slice is given up again.
            return unsafe { std::slice::from_raw_parts(self.data().add(begin), length) };
        }
        whole.resize(length, 0);
        self.copy(at, whole);
        whole
    }

    /// Copies bytes at a position, around the end. There are no more than the ring has.
    fn copy(&self, at: u64, to: &mut [u8]) {
        let begin = self.offset(at);
        let first = to.len().min(self.size - begin);
        // SAFETY: both parts lie within the mapping and within `to`, which the kernel knows nothing of.
        unsafe {
            ptr::copy_nonoverlapping(self.data().add(begin), to.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(self.data(), to.as_mut_ptr().add(first), to.len() - first);
        }
    }

    fn offset(&self, at: u64) -> usize {
        (at & (self.size as u64 - 1)) as usize
    }

    fn data(&self) -> *const u8 {
        // SAFETY: the mapping is longer than a page.
        unsafe { self.memory.as_ptr().add(self.page) }
    }
}

#[cfg(test)]
mod tests {
    use memmap2::MmapMut;

    use super::*;

    const PAGE: usize = 4096;

    /// A ring of 4 KiB, in which a test does what the kernel would do.
    fn ring() -> Ring {
        Ring::new(MmapMut::map_anon(2 * PAGE).unwrap().into(), PAGE, PAGE, None)
    }

    /// Writes a record of a length, filled with a byte, which says `claimed` to be its length.
    fn write(ring: &Ring, length: usize, claimed: u16, filling: u8) {
        let mut record = vec![filling; length];
        record[6..8].copy_from_slice(&claimed.to_ne_bytes());
        let head = ring.head();
        for (index, byte) in record.into_iter().enumerate() {
            let offset = ring.offset(head + index as u64);
            // SAFETY: within the mapping, which nobody else knows.
            unsafe { *ring.memory.as_mut_ptr().add(PAGE + offset) = byte };
        }
        ring.position(offset_of!(perf_event_mmap_page, data_head))
            .store(head + length as u64, Ordering::Release);
    }

    fn read(ring: &mut Ring) -> (Vec<(usize, u8)>, Result<(), Malformed>) {
        let mut records = Vec::new();
        let head = ring.head();
        let outcome = ring.read(head, |record| {
            records.push((record.len(), record[record.len() - 1]))
        });
        (records, outcome)
    }

    #[test]
    fn records_come_in_their_order_around_the_end_too() {
        let mut ring = ring();
        for round in 0..50_u8 {
            write(&ring, 1000, 1000, round);
            write(&ring, 1608, 1608, round + 100);
            let mut seen = 0;
            ring.look(ring.head(), |_| seen += 1);
            assert_eq!(seen, 2);
            assert_eq!(ring.free(), PAGE - 2608);
            assert!(ring.is_half_full());
            let found = read(&mut ring);
            assert_eq!(found, (vec![(1000, round), (1608, round + 100)], Ok(())));
            assert_eq!(ring.free(), PAGE);
        }
    }

    #[test]
    fn a_record_whose_length_cannot_be_ends_the_reading_and_not_the_ring() {
        for claimed in [0, 7, 200, u16::MAX] {
            let mut ring = ring();
            write(&ring, 16, 16, 1);
            write(&ring, 104, claimed, 2);
            assert_eq!(read(&mut ring), (vec![(16, 1)], Err(Malformed)), "{claimed}");
            write(&ring, 24, 24, 3);
            assert_eq!(read(&mut ring), (vec![(24, 3)], Ok(())), "{claimed}");
        }
    }

    #[test]
    fn a_position_that_cannot_be_ends_the_reading() {
        let mut ring = ring();
        ring.position(offset_of!(perf_event_mmap_page, data_head))
            .store(3 * PAGE as u64, Ordering::Release);
        assert_eq!(read(&mut ring), (vec![], Err(Malformed)));
        assert_eq!(ring.free(), PAGE);
    }
}
