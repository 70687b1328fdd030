//! A timer that wakes epoll.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// Rings for the next sleeper: epoll itself counts in milliseconds.
pub(super) struct Timer {
    timer: OwnedFd,
    /// What the timer is set to.
    set_to: Option<Instant>,
}

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self {
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_to: None,
        })
    }

    /// Has the timer ring once at `instant`, if it is not to do so already.
    pub(super) fn set(&mut self, instant: Instant, now: Instant) -> io::Result<()> {
        if self.set_to == Some(instant) {
            return Ok(());
        }
        // Zero would switch it off.
        let left = instant
            .saturating_duration_since(now)
            .max(Duration::from_nanos(1));
        let value = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value)?;
        self.set_to = Some(instant);
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
