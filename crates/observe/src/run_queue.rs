//! How long threads waited for a CPU: they could have run, but it ran others.
//!
//! The kernel keeps this of every thread while it lives, as the second field of `schedstat`, in nanoseconds
//! (<https://docs.kernel.org/scheduler/sched-stats.html>).

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;

use procfs::FromRead;
use procfs::process::Schedstat;
use serde::{Deserialize, Serialize};

/// Share of a process's CPU time that the threads seen must have used, so that their waiting stands for its waiting.
const LEAST_SEEN: f64 = 0.9;

/// Longest `schedstat`: three numbers of 64 bits.
const SCHEDSTAT_BYTES: usize = 128;

/// How long the calling thread has waited for a CPU since it began, in nanoseconds; `None` if the kernel does not say.
pub fn thread_run_queue_wait_ns() -> Option<u64> {
    let file = File::open("/proc/thread-self/schedstat").ok()?;
    let thread = Schedstat::from_read(file).ok()?;
    // It runs, so it was given the CPU once at least; a kernel that does not count says 0.
    (thread.pcount > 0).then_some(thread.run_delay)
}

/// What the present threads of a process have waited and run since each began.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunQueueWaits {
    threads: HashMap<i32, Thread>,
}

/// What one thread has run and waited since it began, in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Thread {
    ran_ns: u64,
    waited_ns: u64,
}

impl RunQueueWaits {
    /// Reads those of the process `pid`, which may belong to any user; `None` if it has ended or the kernel does not say.
    pub fn of(pid: u32) -> Option<Self> {
        Self::of_all([pid])
    }

    /// Reads those of several processes together; `None` if all have ended or the kernel does not say.
    pub(crate) fn of_all(pids: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut is_counted = false;
        let found = pids.into_iter().filter_map(threads_of).flatten();
        let threads = found.map(|(tid, thread)| {
            is_counted |= thread.pcount > 0;
            let thread = Thread {
                ran_ns: thread.sum_exec_runtime,
                waited_ns: thread.run_delay,
            };
            (tid, thread)
        });
        let threads = threads.collect();
        is_counted.then_some(Self { threads })
    }

    /// How long the threads have waited for a CPU since an earlier reading, all together, in nanoseconds. What a thread
    /// waited that has ended since is lost: `None` if those that have not used less than nine tenths of `cpu_ns`, which is
    /// the CPU time of the process in between.
    pub fn since(&self, earlier: &Self, cpu_ns: u64) -> Option<u64> {
        let (mut waited_ns, mut ran_ns) = (0, 0);
        for (tid, now) in &self.threads {
            let earlier = earlier.threads.get(tid);
            // One that has run for less than before is another, with the number of one that ended.
            let earlier = earlier.filter(|earlier| earlier.ran_ns <= now.ran_ns);
            waited_ns += now.waited_ns - earlier.map_or(0, |earlier| earlier.waited_ns.min(now.waited_ns));
            ran_ns += now.ran_ns - earlier.map_or(0, |earlier| earlier.ran_ns);
        }
        (ran_ns as f64 >= LEAST_SEEN * cpu_ns as f64).then_some(waited_ns)
    }
}

/// The threads of a process that live.
fn threads_of(pid: u32) -> Option<impl Iterator<Item = (i32, Schedstat)>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut text = [0; SCHEDSTAT_BYTES];
    // A thread may end between being listed and being read.
    Some(threads.flatten().filter_map(move |thread| {
        let length = File::open(thread.path().join("schedstat"))
            .ok()?
            .read(&mut text)
            .ok()?;
        let stat = Schedstat::from_read(&text[..length]).ok()?;
        Some((thread.file_name().to_str()?.parse().ok()?, stat))
    }))
}
