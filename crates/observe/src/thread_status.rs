//! What `/proc/PID/task/TID/status` says of the threads of a process: context switches of each, memory of all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

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
