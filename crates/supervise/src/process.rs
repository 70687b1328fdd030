//! A handle on a process that another one started.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::{Error, Result};

/// A process that its guard started and does not reap before the end, so that its number stays its own.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    handle: OwnedFd,
}

impl Process {
    /// A handle on the process with this number.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(pid: Pid) -> Result<Self> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Self { pid, handle }),
            Err(errno) => Err(Error::Guard {
                problem: format!("lost the server it started ({errno})"),
            }),
        }
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// True once it has ended.
    pub fn has_ended(&self) -> bool {
        self.ends_within(0)
    }

    /// Kills it and waits until it is dead; one that has ended stays as it is.
    ///
    /// # Errors
    /// If it cannot be killed or does not die.
    pub fn kill(&self) -> Result<()> {
        const LONGEST_DEATH_S: i64 = 5;
        let problem = |problem: String| Error::Guard { problem };
        match pidfd_send_signal(&self.handle, Signal::KILL) {
            Ok(()) if self.ends_within(LONGEST_DEATH_S) => Ok(()),
            Ok(()) => Err(problem("has a server that does not die".into())),
            Err(_) if self.has_ended() => Ok(()),
            Err(errno) => Err(problem(format!("has a server that cannot be killed ({errno})"))),
        }
    }

    fn ends_within(&self, seconds: i64) -> bool {
        let at_most = Timespec {
            tv_sec: seconds,
            tv_nsec: 0,
        };
        matches!(
            retry_on_intr(|| poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&at_most))),
            Ok(1..)
        )
    }
}
