//! The ring itself: requests in, answers out.

use std::io;
use std::time::Duration;

use io_uring::squeue::Entry;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, cqueue};

/// Requests that may be queued before the kernel must be entered for them.
const REQUESTS: u32 = 256;
/// Answers that the kernel has room for; more wait in lists of its own.
const ANSWERS: u32 = 1024;

/// An io_uring instance of one thread. Requests are carried out while that thread enters the kernel and at no other time
/// (one issuer, deferred task work), so its CPU clock holds all that they cost.
pub(super) struct Ring {
    ring: io_uring::IoUring,
}

/// Why the kernel is entered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Enter {
    /// To hand over requests, and for the answers that are there.
    Now,
    /// To hand over requests, and for one answer, but no longer than `left`. For the first `delay` µs more are waited for,
    /// until there are `many`.
    Wait { left: Duration, delay: u32, many: u32 },
}

/// The kernel's answer to a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) data: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

impl Ring {
    pub(super) fn new() -> io::Result<Self> {
        let ring = io_uring::IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(ANSWERS)
            .build(REQUESTS)?;
        // Without it a thread that waits for a server would count as one that waits for a disk, and the pressure of
        // every slice would be wrong. Since Linux 6.15, which has all else that is needed too.
        match ring.params().is_feature_no_iowait() {
            true => Ok(Self { ring }),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(super) fn inner(&self) -> &io_uring::IoUring {
        &self.ring
    }

    /// Queues a request.
    ///
    /// # Errors
    /// When there is no room, and the kernel does not make some.
    ///
    /// # Safety
    /// What the request points to must stay until it has been answered, or, for one that does not wait, until
    /// [`Ring::has_taken_all`] after it was queued.
    pub(super) unsafe fn push(&mut self, request: &Entry) -> io::Result<()> {
        if self.ring.submission().is_full() {
            self.enter(Enter::Now)?;
        }
        // SAFETY: as the caller promises.
        let pushed = unsafe { self.ring.submission().push(request) };
        pushed.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Enters the kernel. It may return early, for a signal, or because too many answers wait.
    pub(super) fn enter(&mut self, why: Enter) -> io::Result<()> {
        let (want, left, delay) = match why {
            Enter::Now => (0, None, 0),
            Enter::Wait { left, delay: 0, .. } => (1, Some(left), 0),
            Enter::Wait { left, delay, many } => (many.clamp(1, ANSWERS), Some(left), delay),
        };
        let left = left.map(Timespec::from);
        let mut arguments = SubmitArgs::new().min_wait_usec(delay);
        if let Some(left) = &left {
            arguments = arguments.timespec(left);
        }
        let count = self.ring.submission().len() as u32;
        let flags = EnterFlags::EXT_ARG | EnterFlags::GETEVENTS | EnterFlags::NO_IOWAIT;
        // SAFETY: no flag hands over any memory but the arguments, which are of the kind that EXT_ARG names.
        let entered = unsafe {
            let submitter = self.ring.submitter();
            submitter.enter(count, want, flags.bits(), Some(&arguments))
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// True if the kernel has every request and every answer is in the queue.
    pub(super) fn has_taken_all(&mut self) -> bool {
        let queue = self.ring.submission();
        queue.is_empty() && !queue.cq_overflow()
    }

    /// Takes the answers that are there.
    pub(super) fn take(&mut self, answers: &mut Vec<Answer>) {
        answers.extend(self.ring.completion().map(|entry: cqueue::Entry| Answer {
            data: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        }));
    }
}
