//! The CPU time of the calling thread.

use std::mem::MaybeUninit;

use ciphertax_records::{CpuTime, PageFaults};

use crate::clock;

/// What the calling thread has used since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadUsage {
    /// CPU time; the total is exact to the scheduler's clock, the system part to the microsecond.
    pub cpu: CpuTime,
    /// Context switches, voluntary and involuntary.
    pub context_switches: u64,
    /// Page faults.
    pub faults: PageFaults,
}

impl ThreadUsage {
    /// Reads the calling thread's usage: two system calls, less than a microsecond.
    pub fn now() -> Self {
        let total_ns = clock::own(libc::CLOCK_THREAD_CPUTIME_ID);
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: writes to `usage`, for which all zeros is valid too. It fails for wrong arguments alone.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        Self {
            cpu: CpuTime {
                total_ns,
                system_ns: clock::microseconds(usage.ru_stime) * 1_000,
            },
            context_switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
            faults: faults_in(&usage),
        }
    }

    /// What was used since an earlier reading of the same thread.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: CpuTime {
                total_ns: self.cpu.total_ns.saturating_sub(earlier.cpu.total_ns),
                system_ns: self.cpu.system_ns.saturating_sub(earlier.cpu.system_ns),
            },
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            faults: self.faults.since(&earlier.faults).unwrap_or_default(),
        }
    }
}

/// The page faults of an account.
pub(crate) fn faults_in(usage: &libc::rusage) -> PageFaults {
    PageFaults {
        minor: usage.ru_minflt.unsigned_abs(),
        major: usage.ru_majflt.unsigned_abs(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};
    use std::{hint, thread};

    use super::*;

    #[test]
    fn another_threads_work_is_not_counted() {
        let before = ThreadUsage::now();
        let worked = thread::spawn(spin).join().unwrap();
        let used = ThreadUsage::now().since(&before);
        assert!(used.cpu.total_ns < worked.cpu.total_ns, "{used:?}, {worked:?}");
    }

    #[test]
    fn own_work_is_counted_and_agrees_with_the_kernels_other_account() {
        let user_and_system = || {
            let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
            stat.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        let (before, schedstat_before) = (ThreadUsage::now(), user_and_system());
        spin();
        // Gives the processor away, so that the scheduler brings its account up to date.
        thread::sleep(Duration::from_millis(1));
        let (used, expected) = (
            ThreadUsage::now().since(&before),
            user_and_system() - schedstat_before,
        );
        let ratio = used.cpu.total_ns as f64 / expected as f64;
        assert!((0.97..1.03).contains(&ratio), "{used:?}, schedstat {expected}");
        assert!(used.cpu.system_ns <= used.cpu.total_ns + 1_000_000);
    }

    #[test]
    fn every_page_of_new_memory_that_is_touched_is_a_fault() {
        const PAGES: usize = 5_000;
        let page = rustix::param::page_size();
        let length = PAGES * page;
        // SAFETY: asks for new memory, at no given address.
        let memory = unsafe {
            let (protection, flags) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            );
            libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0)
        };
        assert_ne!(memory, libc::MAP_FAILED);
        // SAFETY: of that memory, whose pages must not be given several at a time.
        assert_eq!(unsafe { libc::madvise(memory, length, libc::MADV_NOHUGEPAGE) }, 0);
        let before = ThreadUsage::now();
        for place in (0..length).step_by(page) {
            // SAFETY: lies within that memory.
            unsafe { memory.cast::<u8>().add(place).write_volatile(1) };
        }
        let faults = ThreadUsage::now().since(&before).faults;
        // SAFETY: nobody uses that memory any more.
        unsafe { libc::munmap(memory, length) };
        let pages = PAGES as u64;
        assert!((pages..pages + pages / 10).contains(&faults.minor), "{faults:?}");
    }

    #[test]
    fn sleeping_switches_context_and_is_no_cpu_time() {
        let (began, before) = (Instant::now(), ThreadUsage::now());
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(1));
        }
        let used = ThreadUsage::now().since(&before);
        assert!(used.context_switches >= 20, "{used:?}");
        // Of each millisecond a part may be the way into the sleep.
        let awake = began.elapsed() - Duration::from_millis(10);
        let is_less = u128::from(used.cpu.total_ns) < awake.as_nanos();
        assert!(is_less, "{used:?}, {awake:?}");
    }

    /// Uses 50 ms of CPU time, and says how much it was.
    fn spin() -> ThreadUsage {
        let before = ThreadUsage::now();
        loop {
            let used = ThreadUsage::now().since(&before);
            if used.cpu.total_ns >= 50_000_000 {
                return used;
            }
            hint::spin_loop();
        }
    }
}
