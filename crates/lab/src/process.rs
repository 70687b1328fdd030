//! A handle on a process that another one started.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::{Error, Result};

/// A process that its guard started and does not reap before the end, so that its number stays its own.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    handle: OwnedFd,
}

impl Process {
    pub(crate) fn open(pid: Pid) -> Result<Self> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Self { pid, handle }),
            Err(errno) => Err(Error::Guard {
                problem: format!("lost the server it started ({errno})"),
            }),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn has_ended(&self) -> bool {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(
            poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&now)),
            Ok(1..)
        )
    }
}
