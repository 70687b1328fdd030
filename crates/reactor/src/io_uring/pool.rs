//! The buffers that the kernel chooses from when bytes have arrived.

use std::io;
use std::mem;
use std::slice;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

use super::pages::Pages;

/// Buffers of a pool; a power of two. All that is in them is taken before the next wait but for sockets that nobody
/// reads, and where they are used up a socket is read by a system call of its own.
pub(super) const BUFFERS: u16 = 128;
/// Bytes of a buffer: most answers to a point select, an insert or a commit fit. What does not is read by system calls
/// of its own, straight to where it belongs.
pub(super) const BUFFER_SIZE: usize = 4096;
/// The pool's number for the kernel; a ring has one.
pub(super) const GROUP: u16 = 0;

/// Buffers for what is received, shared by all sockets of a ring: a connection that is silent needs none.
pub(super) struct Pool {
    /// The ring in which buffers are given to the kernel.
    given: Pages,
    bytes: Pages,
    tail: u16,
}

/// A buffer that the kernel has filled. It must be given back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BufferId(u16);

impl BufferId {
    /// What the flags of a completion say.
    pub(super) fn of(flags: u32) -> Option<Self> {
        io_uring::cqueue::buffer_select(flags).map(Self)
    }
}

impl Pool {
    pub(super) fn new() -> io::Result<Self> {
        let mut pool = Self {
            given: Pages::new(usize::from(BUFFERS) * size_of::<BufRingEntry>())?,
            bytes: Pages::new(usize::from(BUFFERS) * BUFFER_SIZE)?,
            tail: 0,
        };
        for index in 0..BUFFERS {
            pool.give(BufferId(index));
        }
        Ok(pool)
    }

    /// Lets the sockets of `ring` use the pool.
    ///
    /// # Safety
    /// The pool must outlive the ring's requests.
    pub(super) unsafe fn register(&self, ring: &IoUring) -> io::Result<()> {
        let address = self.given.start().as_ptr() as u64;
        // SAFETY: the pages have room for that many entries, and stay as the caller promises.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(address, BUFFERS, GROUP, 0)
        }
    }

    /// The first `count` bytes of a buffer that the kernel has filled.
    pub(super) fn bytes(&self, id: &BufferId, count: usize) -> &[u8] {
        let place = usize::from(id.0) * BUFFER_SIZE;
        assert!(count <= BUFFER_SIZE && place + count <= self.bytes.size());
        // SAFETY: within the pages, as just checked; and the kernel does not write to a buffer until it is given back,
        // which takes the id.
        unsafe { slice::from_raw_parts(self.bytes.start().as_ptr().add(place), count) }
    }

    /// Gives a buffer to the kernel.
    pub(super) fn give(&mut self, id: BufferId) {
        let address = self.bytes.start().as_ptr() as usize + usize::from(id.0) * BUFFER_SIZE;
        let entries: *mut BufRingEntry = self.given.start().as_ptr().cast();
        // SAFETY: the place is within the pages, which begin where an entry may, and the kernel reads no entry before the
        // tail says so. The tail is part of the first entry, aligned, and read by the kernel alone.
        unsafe {
            let entry = &mut *entries.add(usize::from(self.tail % BUFFERS));
            entry.set_addr(address as u64);
            entry.set_len(BUFFER_SIZE as u32);
            entry.set_bid(id.0);
            self.tail = self.tail.wrapping_add(1);
            let tail: *const AtomicU16 = BufRingEntry::tail(entries).cast();
            (*tail).store(self.tail, Ordering::Release);
        }
    }

    /// Leaves the memory to the kernel for good, which may still have requests that write to it.
    pub(super) fn leak(&mut self) {
        if let Ok(nothing) = Pages::new(1) {
            mem::forget(mem::replace(&mut self.bytes, nothing));
        }
    }
}
