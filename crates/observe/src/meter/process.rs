//! A process by itself.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use ciphertax_base::CpuTime;
use procfs::FromRead;
use procfs::process::Stat;

use super::{Io, Meter, Part, Usage};
use crate::cpu_time::{clock_of_process, faults_in_stat, read_clock, settle};
use crate::thread_status::{Memory, RunQueueWaits, ThreadStatus};
use crate::{Error, Result, tick_ns};

/// Longest `/proc/PID/stat`: 52 numbers and a name of 64 bytes.
const STAT_BYTES: usize = 2048;

/// One process with all its threads, those that have ended too; not what it starts. Its clock counts to the nanosecond of the
/// scheduler's, up to the instant of reading.
#[derive(Debug)]
pub struct ProcessMeter {
    pid: u32,
    clock: libc::clockid_t,
    /// Stays with this process: once it is gone, reading fails, whoever has its number then.
    stat: File,
}

impl ProcessMeter {
    /// That of the process `pid`, which may belong to any user.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn open(pid: u32) -> Result<Self> {
        let ended = || Error::ProcessEnded(pid);
        let stat = File::open(format!("/proc/{pid}/stat")).map_err(|_| ended())?;
        let clock = clock_of_process(pid).ok_or_else(ended)?;
        Ok(Self { pid, clock, stat })
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// True until the process has ended.
    pub fn is_alive(&self) -> bool {
        self.stat().is_ok()
    }

    /// CPU time since the process began, and nothing else. The system part comes from the kernel's ticks.
    ///
    /// # Errors
    /// If the process has ended, even if it was not reaped yet.
    pub fn cpu(&self) -> Result<CpuTime> {
        let stat = self.stat()?;
        self.cpu_by(&stat)
    }

    fn cpu_by(&self, stat: &Stat) -> Result<CpuTime> {
        Ok(CpuTime {
            total_ns: self.total_ns()?,
            system_ns: stat.stime * tick_ns(),
        })
    }

    fn stat(&self) -> Result<Stat> {
        let mut buffer = [0; STAT_BYTES];
        let length = self.stat.read_at(&mut buffer, 0).map_err(|_| self.ended())?;
        let stat = Stat::from_read(&buffer[..length]).map_err(|_| self.ended())?;
        match stat.state {
            'Z' | 'X' => Err(self.ended()),
            _ => Ok(stat),
        }
    }

    fn total_ns(&self) -> Result<u64> {
        read_clock(self.clock).ok_or_else(|| self.ended())
    }

    fn ended(&self) -> Error {
        Error::ProcessEnded(self.pid)
    }
}

impl Meter for ProcessMeter {
    fn read(&self) -> Result<Usage> {
        let stat = self.stat()?;
        let cpu = self.cpu_by(&stat)?;
        let threads = ThreadStatus::of(self.pid);
        Ok(Usage::of(Part {
            context_switches: threads.map(|threads| threads.context_switches),
            faults: Some(faults_in_stat(&stat)),
            peak_memory_bytes: threads.and_then(|threads| Memory::peak_of(threads.memory)),
            waits: RunQueueWaits::of(self.pid),
            io: Io::of(self.pid),
            ..Part::of_cpu(cpu)
        }))
    }

    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        settle(quiet_for, at_most, || self.total_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_does_not_exist_has_ended() {
        // Above the largest number Linux gives.
        for pid in [1 << 23, u32::MAX] {
            assert!(matches!(ProcessMeter::open(pid), Err(Error::ProcessEnded(_))));
        }
    }
}
