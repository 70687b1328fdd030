//! The threads of a process, by `/proc/PID/task/TID`: context switches and waits for a CPU of each, memory of all.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use procfs::FromRead;
use procfs::process::Schedstat;
use serde::{Deserialize, Serialize};

/// The threads of a process, by their numbers.
///
/// # Errors
/// If it has ended.
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let listed = fs::read_dir(format!("/proc/{pid}/task"))?;
    // The folder goes with its process.
    let present = listed.map_while(io::Result::ok);
    Ok(present
        .filter_map(|thread| thread.file_name().to_str()?.parse().ok())
        .collect())
}

/// The processes that a process has begun and that live; none of one that has ended.
pub fn children(pid: u32) -> Vec<u32> {
    let threads = threads(pid).unwrap_or_default().into_iter();
    threads.flat_map(|tid| children_of_thread(pid, tid)).collect()
}

/// Those that one of its threads has begun.
pub fn children_of_thread(pid: u32, tid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
    let children = children.split_ascii_whitespace();
    children.filter_map(|child| child.parse().ok()).collect()
}

const KIB: u64 = 1_024;

/// What the present threads of a process say, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ThreadStatus {
    /// Voluntary and involuntary, since each thread began.
    pub(crate) context_switches: u64,
    /// `None` of a thread of the kernel's, and of a process that has ended.
    pub(crate) memory: Option<Memory>,
}

/// Memory of a process in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Memory {
    /// The most that it has had (`VmHWM`).
    peak: u64,
    /// What of its present memory are pages of files, or shared with others.
    shared: u64,
}

impl ThreadStatus {
    /// Those of a process; `None` if it has ended.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let mut text = String::new();
        let mut found = Self::default();
        for thread in threads.flatten() {
            // A thread may end between being listed and being read.
            if read_into(&mut text, thread.path().join("status")).is_ok() {
                found.context_switches += context_switches_in(&text);
                found.memory = found.memory.or_else(|| Memory::in_status(&text));
            }
        }
        Some(found)
    }
}

impl Memory {
    fn in_status(status: &str) -> Option<Self> {
        let kib = |name: &str| {
            let value = status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            value
                .trim()
                .strip_suffix(" kB")?
                .trim_end()
                .parse::<u64>()
                .ok()?
                .checked_mul(KIB)
        };
        Some(Self {
            peak: kib("VmHWM")?,
            shared: kib("RssFile")
                .unwrap_or(0)
                .saturating_add(kib("RssShmem").unwrap_or(0)),
        })
    }

    /// The most memory of several processes together, in bytes; `None` if there are none. What they share with each other and
    /// with files counts once, as much as the one has of it that has most.
    pub(crate) fn peak_of(processes: impl IntoIterator<Item = Self>) -> Option<u64> {
        let add = |sum: Option<(u64, u64)>, Self { peak, shared }: Self| {
            let (own, most) = sum.unwrap_or_default();
            let shared = shared.min(peak);
            Some((own + (peak - shared), most.max(shared)))
        };
        processes
            .into_iter()
            .fold(None, add)
            .map(|(own, shared)| own + shared)
    }
}

/// The most memory that this process has had so far, in bytes; `None` if the kernel does not say.
pub fn own_peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Memory::in_status(&status).map(|memory| memory.peak)
}

fn read_into(text: &mut String, path: PathBuf) -> io::Result<usize> {
    text.clear();
    File::open(path)?.read_to_string(text)
}

fn context_switches_in(status: &str) -> u64 {
    status
        .lines()
        .filter_map(|line| line.split_once("voluntary_ctxt_switches:"))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

/// Share of a process's CPU time that the threads seen must have used, so that their waiting stands for its waiting.
const LEAST_SEEN: f64 = 0.9;

/// Longest `schedstat`: three numbers of 64 bits.
const SCHEDSTAT_BYTES: usize = 128;

/// How long the calling thread has waited for a CPU since it began, in nanoseconds; `None` if the kernel does not say.
///
/// It could have run then, but the CPU ran others. The kernel keeps this of every thread while it lives, as the second field of `schedstat`
/// (<https://docs.kernel.org/scheduler/sched-stats.html>).
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

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn both_kinds_of_context_switches_are_counted() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(context_switches_in(status), 42);
    }

    #[test]
    fn this_thread_is_among_the_threads_of_its_process() {
        let own = rustix::thread::gettid().as_raw_pid().cast_unsigned();
        assert!(threads(std::process::id()).unwrap().contains(&own));
        assert!(threads(i32::MAX as u32).is_err());
    }

    #[test]
    fn what_processes_share_counts_once() {
        let status = |peak: u64, file: u64, shared: u64| {
            let text = format!(
                "Name:\tVmHWM: 9 kB\nVmHWM:\t  {peak} kB\nRssFile:\t {file} kB\nRssShmem:\t{shared} kB\n"
            );
            Memory::in_status(&text).unwrap()
        };
        let (large, small) = (status(100, 10, 60), status(50, 10, 30));
        assert_eq!(Memory::peak_of([large]), Some(100 << 10));
        assert_eq!(Memory::peak_of([large, small]), Some((30 + 10 + 70) << 10));
        assert_eq!(Memory::peak_of([]), None);
        for broken in [
            "",
            "VmHWM:\t",
            "VmHWM:\t-5 kB",
            "VmHWM:\t18446744073709551615 kB",
            "VmHWM:\t5",
        ] {
            assert_eq!(Memory::in_status(broken), None, "{broken}");
        }
    }

    #[test]
    fn memory_that_this_process_has_had_is_in_its_peak() {
        const BYTES: u64 = 64 << 20;
        let before = own_peak_memory_bytes().unwrap();
        let touched = black_box(vec![1_u8; BYTES as usize]);
        let peak = own_peak_memory_bytes().unwrap();
        drop(touched);
        // Other tests of this process have memory too, and may have had more before.
        assert!(peak >= BYTES && peak >= before - (before / 50), "{before} {peak}");
        // The kernel counts pages for each CPU apart, and adds up now and then.
        assert!(own_peak_memory_bytes().unwrap() >= peak - (peak / 50));
        assert_eq!(ThreadStatus::of(u32::MAX), None);
    }
}
