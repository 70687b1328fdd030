//! Waking tasks at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// The tasks that sleep, and the timer that rings for the next of them: epoll itself counts in milliseconds.
pub(crate) struct Alarms {
    /// When, and whom to wake; the next on top.
    sleeping: BinaryHeap<Reverse<(Instant, u32)>>,
    timer: OwnedFd,
    /// What the timer is set to.
    set_to: Option<Instant>,
}

impl Alarms {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self {
            sleeping: BinaryHeap::new(),
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_to: None,
        })
    }

    /// What epoll is to watch.
    pub(crate) fn timer(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    pub(crate) fn add(&mut self, instant: Instant, task: u32) {
        self.sleeping.push(Reverse((instant, task)));
    }

    /// Forgets the sleepers of an earlier run.
    pub(crate) fn clear(&mut self) {
        self.sleeping.clear();
        self.set_to = None;
    }

    /// Sets the timer for the next sleeper.
    pub(crate) fn set(&mut self, now: Instant) -> io::Result<()> {
        let next = self.sleeping.peek().map(|Reverse((instant, _))| *instant);
        let Some(instant) = next.filter(|next| self.set_to != Some(*next)) else {
            return Ok(());
        };
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
        self.set_to = next;
        Ok(())
    }

    /// Wakes those whose time has come.
    pub(crate) fn wake(&mut self, ready: &mut Vec<u32>) {
        if self.sleeping.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(Reverse((_, task))) = self
            .sleeping
            .peek()
            .filter(|Reverse((instant, _))| *instant <= now)
        {
            ready.push(*task);
            self.sleeping.pop();
        }
    }
}
