//! The CPU time of another process.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use ciphertax_records::{CpuTime, PageFaults};
use procfs::FromRead;
use procfs::process::Stat;

use crate::clock;
use crate::error::{Error, Result};
use crate::thread_status::ThreadStatus;
use crate::tick_ns;

/// Longest `/proc/PID/stat`: 52 numbers and a name of 64 bytes.
const STAT_BYTES: usize = 2048;

/// The CPU clock of one process. It counts all threads, those that have ended too, to the nanosecond of the scheduler's
/// clock, up to the instant of reading.
#[derive(Debug)]
pub struct ProcessCpu {
    pid: u32,
    clock: libc::clockid_t,
    /// Stays with this process: once it is gone, reading fails, whoever has its number then.
    stat: File,
}

impl ProcessCpu {
    /// Finds the clock of the process `pid`, which may belong to any user.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn open(pid: u32) -> Result<Self> {
        let ended = || Error::ProcessEnded { pid };
        let stat = File::open(format!("/proc/{pid}/stat")).map_err(|_| ended())?;
        let clock = clock::of_process(pid).ok_or_else(ended)?;
        Ok(Self { pid, clock, stat })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// CPU time since the process began. The system part comes from the kernel's ticks.
    ///
    /// # Errors
    /// If the process has ended, even if it was not reaped yet.
    pub fn read(&self) -> Result<CpuTime> {
        self.read_with_faults().map(|(cpu, _)| cpu)
    }

    /// CPU time and page faults since the process began, of its children that it waited for too in the latter.
    ///
    /// # Errors
    /// If the process has ended.
    pub(crate) fn read_with_faults(&self) -> Result<(CpuTime, PageFaults)> {
        let mut buffer = [0; STAT_BYTES];
        let length = self.stat.read_at(&mut buffer, 0).map_err(|_| self.ended())?;
        let stat = Stat::from_read(&buffer[..length]).map_err(|_| self.ended())?;
        if matches!(stat.state, 'Z' | 'X') {
            return Err(self.ended());
        }
        let cpu = CpuTime {
            total_ns: self.total_ns()?,
            system_ns: stat.stime * tick_ns(),
        };
        Ok((cpu, faults_in(&stat)))
    }

    /// Context switches of all its present threads since each began, voluntary and involuntary. The kernel does not keep
    /// those of threads that have ended.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn context_switches(&self) -> Result<u64> {
        self.threads().map(|threads| threads.context_switches)
    }

    /// What its present threads say.
    ///
    /// # Errors
    /// If the process has ended.
    pub(crate) fn threads(&self) -> Result<ThreadStatus> {
        ThreadStatus::of(self.pid).ok_or_else(|| self.ended())
    }

    /// Waits until the clock has stood still for `quiet_for`, but no longer than `at_most`. Says whether it did: what a
    /// process does after its last answer belongs to the slice before.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        clock::settle(quiet_for, at_most, || self.total_ns())
    }

    /// CPU time since the process began, and nothing else.
    fn total_ns(&self) -> Result<u64> {
        clock::read(self.clock).ok_or_else(|| self.ended())
    }

    fn ended(&self) -> Error {
        Error::ProcessEnded { pid: self.pid }
    }
}

/// Page faults of a process, and of its children that it waited for.
pub(crate) fn faults_in(stat: &Stat) -> PageFaults {
    PageFaults {
        minor: stat.minflt.saturating_add(stat.cminflt),
        major: stat.majflt.saturating_add(stat.cmajflt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_does_not_exist_has_ended() {
        // Above the largest number Linux gives.
        assert!(matches!(
            ProcessCpu::open(1 << 23),
            Err(Error::ProcessEnded { .. })
        ));
        assert!(matches!(
            ProcessCpu::open(u32::MAX),
            Err(Error::ProcessEnded { .. })
        ));
    }
}
