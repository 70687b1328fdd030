//! The CPU time of those who work for a file system besides those who use its files.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use ciphertax_base::CpuTime;

use crate::meter::{Meter, ProcessMeter};
use crate::{Result, cpu_time};

/// The parent of all threads of the kernel, by its number and its name.
const KTHREADD: (&str, &str) = ("2", "kthreadd");

/// What every worker's name begins with.
const WORKER: &str = "kworker/";

/// Reads the CPU time that a file system takes outside of the clocks of the processes that read and write its files: of
/// a FUSE daemon, of the journal's thread, and of the kernel's workers.
///
/// A reading takes as long as reading a process for each of the kernel's threads, some hundred: a millisecond or two.
#[derive(Debug)]
pub struct FileSystemMeter {
    own: Vec<ProcessMeter>,
}

/// A reading. Only the [difference](FileSystemUsage::since) of two means something.
#[derive(Debug, Clone)]
pub struct FileSystemUsage {
    own: CpuTime,
    /// CPU time in nanoseconds of each of the kernel's workers, by its number and when it began; `None` where none is seen.
    workers: Option<BTreeMap<(u32, u64), u64>>,
}

/// What was used between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileSystemUsed {
    /// Of the processes and threads that work for this file system alone: all of it is its.
    pub own: CpuTime,
    /// Of the kernel's workers; `None` in a container, which sees none of them.
    pub shared: Option<SharedWork>,
}

/// CPU time of all the kernel's workers (`kworker`) together, which work for everybody in turn. No clock says whose work
/// they did: the part of one file system is anything between nothing and all of it, so it can be shown beside what that
/// file system used, and never be added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedWork {
    /// Of those that live, in nanoseconds.
    pub cpu_ns: u64,
    /// How many ended meanwhile: what they did after the first reading is not in the sum.
    pub ended: usize,
}

impl FileSystemMeter {
    /// That of a file system for which these processes and threads of the kernel's work and no others; none, if it has
    /// none of its own.
    ///
    /// # Errors
    /// If one of them does not exist.
    pub fn open(own: &[u32]) -> Result<Self> {
        let own = own.iter().map(|pid| ProcessMeter::open(*pid));
        Ok(Self {
            own: own.collect::<Result<_>>()?,
        })
    }

    /// What was used so far.
    ///
    /// # Errors
    /// If one that works for it alone has ended.
    pub fn read(&self) -> Result<FileSystemUsage> {
        Ok(FileSystemUsage {
            own: self.own()?,
            workers: workers(),
        })
    }

    /// What those used so far that work for it alone: a reading that takes microseconds.
    ///
    /// # Errors
    /// If one of them has ended.
    pub fn own(&self) -> Result<CpuTime> {
        self.own.iter().map(ProcessMeter::cpu).sum()
    }

    /// Waits until the clocks of those that work for it alone have stood still for `quiet_for`, but no longer than
    /// `at_most` for each. Says whether they did. Of the kernel's workers nobody can say that.
    ///
    /// # Errors
    /// If one that works for it alone has ended.
    pub fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        let mut have_settled = true;
        for each in &self.own {
            have_settled &= each.settle(quiet_for, at_most)?;
        }
        Ok(have_settled)
    }
}

impl FileSystemUsage {
    /// What was used since an earlier reading of the same meter.
    pub fn since(&self, earlier: &Self) -> FileSystemUsed {
        FileSystemUsed {
            own: self.own.since(&earlier.own),
            shared: self
                .workers
                .as_ref()
                .zip(earlier.workers.as_ref())
                .map(|(now, before)| shared_work(before, now)),
        }
    }
}

fn shared_work(before: &BTreeMap<(u32, u64), u64>, now: &BTreeMap<(u32, u64), u64>) -> SharedWork {
    // One that came meanwhile began at nothing.
    let risen = |(key, ns): (&(u32, u64), &u64)| ns.saturating_sub(before.get(key).copied().unwrap_or(0));
    SharedWork {
        cpu_ns: now.iter().map(risen).sum(),
        ended: before.keys().filter(|key| !now.contains_key(key)).count(),
    }
}

/// The clocks of the kernel's workers; `None` where its threads are not seen.
fn workers() -> Option<BTreeMap<(u32, u64), u64>> {
    let (parent, name) = KTHREADD;
    let comm = fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    if comm.trim_end() != name {
        return None;
    }
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    Some(pids.filter_map(worker).collect())
}

fn worker(pid: u32) -> Option<((u32, u64), u64)> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    if !name.starts_with(WORKER) {
        return None;
    }
    let stat = procfs::process::Process::new(pid.cast_signed())
        .ok()?
        .stat()
        .ok()?;
    Some((
        (pid, stat.starttime),
        cpu_time::read_clock(cpu_time::clock_of_process(pid)?)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_came_count_in_full_and_those_that_ended_are_named() {
        let before = BTreeMap::from([((7, 1), 100), ((8, 1), 50), ((9, 1), 70)]);
        // A number was given again.
        let now = BTreeMap::from([((7, 1), 130), ((8, 2), 5), ((10, 3), 11)]);
        let expected = SharedWork {
            cpu_ns: 30 + 5 + 11,
            ended: 2,
        };
        assert_eq!(shared_work(&before, &now), expected);
        assert_eq!(shared_work(&before, &before), SharedWork::default());
    }

    #[test]
    fn one_that_nobody_works_for_alone_uses_nothing_of_its_own() {
        let meter = FileSystemMeter::open(&[]).unwrap();
        let before = meter.read().unwrap();
        assert!(meter.settle(Duration::ZERO, Duration::ZERO).unwrap());
        assert_eq!(meter.read().unwrap().since(&before).own, CpuTime::default());
    }
}
