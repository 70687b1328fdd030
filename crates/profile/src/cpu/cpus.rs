//! Which CPUs there are, and which a thread may run on.

use std::fs;

use rustix::process::Pid;

/// The CPUs on which a thread may run; `None` if it has ended.
pub(super) fn of_thread(tid: u32) -> Option<Vec<u32>> {
    let tid = Pid::from_raw(i32::try_from(tid).ok()?)?;
    let set = rustix::thread::sched_getaffinity(Some(tid)).ok()?;
    let is_in = |cpu: &u32| set.is_set(*cpu as usize);
    Some(
        (0..rustix::thread::CpuSet::MAX_CPU as u32)
            .filter(is_in)
            .collect(),
    )
}

/// The CPUs that are switched on; the first one where that is not said.
pub(super) fn online() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = cpu_list(text.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The numbers of a list such as `0-3,8,10-11`; none of what is not one.
fn cpu_list(text: &str) -> Vec<u32> {
    /// More than any kernel can be built for.
    const MOST: usize = 1 << 16;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list("0"), [0]);
        assert_eq!(cpu_list(""), Vec::<u32>::new());
        assert_eq!(cpu_list("3-1,x,2-"), Vec::<u32>::new());
        assert_eq!(cpu_list("0-4294967295").len(), 1 << 16);
        assert!(!online().is_empty());
    }

    #[test]
    fn this_thread_may_run_on_a_cpu_that_is_switched_on_and_one_that_never_was_nowhere() {
        let own = rustix::thread::gettid().as_raw_pid().cast_unsigned();
        let (allowed, online) = (of_thread(own).unwrap(), online());
        assert!(allowed.iter().any(|cpu| online.contains(cpu)), "{allowed:?}");
        assert_eq!(of_thread(i32::MAX as u32), None);
    }
}
