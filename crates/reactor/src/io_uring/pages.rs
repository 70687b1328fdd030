//! Memory that the kernel writes to.

use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Whole pages of zeros of their own, which take room once they are touched.
pub(super) struct Pages {
    start: NonNull<u8>,
    size: usize,
}

impl Pages {
    pub(super) fn new(size: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses an address where nothing is yet.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                size,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, size })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: these pages were mapped by `new`, and who borrowed from them is gone with the borrow of `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.size) };
    }
}
