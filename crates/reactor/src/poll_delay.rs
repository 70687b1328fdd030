//! Waiting a little for more sockets to become ready.

use std::time::Duration;

use rustix::thread::{Timespec, nanosleep};

/// How long a thread that has nothing to do sleeps before it asks which sockets are ready.
///
/// With many active connections one wake-up then serves many sockets instead of one. The price is that an answer may
/// wait that long before it is read, which the recorded latency contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollDelay(Duration);

impl PollDelay {
    /// Serve each socket as soon as it is ready.
    pub const NONE: Self = Self(Duration::ZERO);

    /// Wait this long for more.
    pub fn micros(micros: u32) -> Self {
        Self(Duration::from_micros(micros.into()))
    }

    pub(crate) fn sleep(self) {
        if self == Self::NONE {
            return;
        }
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: self.0.subsec_nanos().into(),
        };
        // A signal that ends the sleep early only makes the batch smaller.
        let _ = nanosleep(&pause);
    }
}

/// Lets this thread's sleeps end within about a microsecond of their time, not within the default 50.
pub(crate) fn sleep_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000_u64) };
}
