//! CPU time: of the calling thread, of another process, and of the whole machine.

use std::fs;
use std::mem::MaybeUninit;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::{CpuTime, PageFaults};
use procfs::process::Stat;

use crate::{Error, Result, tick_ns};

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
        let total_ns = own_clock(libc::CLOCK_THREAD_CPUTIME_ID);
        let usage = own_usage(libc::RUSAGE_THREAD);
        Self {
            cpu: CpuTime {
                total_ns,
                system_ns: microseconds(usage.ru_stime) * 1_000,
            },
            context_switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
            faults: faults_in_usage(&usage),
        }
    }

    /// What was used since an earlier reading of the same thread.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu.since(&earlier.cpu),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            faults: self.faults.since(&earlier.faults).unwrap_or_default(),
        }
    }
}

/// The account of the calling thread or process.
pub(crate) fn own_usage(whose: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::zeroed();
    // SAFETY: writes to `usage`, for which all zeros is valid too. It fails for wrong arguments alone.
    unsafe {
        libc::getrusage(whose, usage.as_mut_ptr());
        usage.assume_init()
    }
}

pub(crate) fn faults_in_usage(usage: &libc::rusage) -> PageFaults {
    PageFaults {
        minor: usage.ru_minflt.unsigned_abs(),
        major: usage.ru_majflt.unsigned_abs(),
    }
}

/// Page faults of a process, and of its children that it waited for.
pub(crate) fn faults_in_stat(stat: &Stat) -> PageFaults {
    PageFaults {
        minor: stat.minflt.saturating_add(stat.cminflt),
        major: stat.majflt.saturating_add(stat.cmajflt),
    }
}

/// Where the CPU time of all CPUs together went since the machine started, in steps of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemCpu {
    /// All of it, idle or not, in nanoseconds.
    pub total_ns: u64,
    /// What the hypervisor gave to others while this machine had work to do, in nanoseconds.
    pub steal_ns: u64,
    /// What no task wanted, or only such that wait for a device, in nanoseconds.
    pub idle_ns: u64,
}

impl SystemCpu {
    /// Reads `/proc/stat`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").map_err(Error::read("/proc/stat"))?;
        Ok(Self::from_stat(&text, tick_ns()))
    }

    /// The time between an earlier reading and this one.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }

    /// The first line is `cpu user nice system idle iowait irq softirq steal guest guest_nice`; the last two are part of the
    /// first two.
    fn from_stat(text: &str, tick_ns: u64) -> Self {
        let all_cpus = text.lines().next().unwrap_or_default();
        let mut ticks = [0; 8];
        for (ticks, word) in ticks.iter_mut().zip(all_cpus.split_whitespace().skip(1)) {
            *ticks = word.parse().unwrap_or(0);
        }
        let [.., idle, io_wait, _, _, steal] = ticks;
        Self {
            total_ns: ticks.iter().sum::<u64>() * tick_ns,
            steal_ns: steal * tick_ns,
            idle_ns: (idle + io_wait) * tick_ns,
        }
    }
}

/// What a CPU clock of the calling thread or process shows, in nanoseconds.
pub(crate) fn own_clock(clock: libc::clockid_t) -> u64 {
    // These clocks exist in every Linux.
    read_clock(clock).unwrap_or(0)
}

/// What a CPU clock shows, in nanoseconds; `None` once its process is gone.
pub(crate) fn read_clock(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `time`, which outlives the call.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    // CPU clocks are never negative.
    (outcome == 0).then(|| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// The CPU clock of a process, which may belong to any user; `None` if there is no such process.
pub(crate) fn clock_of_process(pid: u32) -> Option<libc::clockid_t> {
    let number = libc::pid_t::try_from(pid).ok()?;
    let mut clock = 0;
    // SAFETY: writes one clock number to `clock`, which outlives the call.
    (unsafe { libc::clock_getcpuclockid(number, &raw mut clock) } == 0).then_some(clock)
}

/// A time of the kernel's in microseconds; CPU times are never negative.
pub(crate) fn microseconds(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs()
}

/// Waits until `clock` has given the same twice, `quiet_for` apart, but no longer than `at_most`.
pub(crate) fn settle<T: PartialEq>(
    quiet_for: Duration,
    at_most: Duration,
    mut clock: impl FnMut() -> Result<T>,
) -> Result<bool> {
    let deadline = Instant::now() + at_most;
    let mut before = clock()?;
    loop {
        thread::sleep(quiet_for);
        let now = clock()?;
        if now == before {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        before = now;
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
        let holds = u128::from(used.cpu.total_ns) < awake.as_nanos();
        assert!(holds, "{used:?}, {awake:?}");
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

    #[test]
    fn guest_time_is_not_counted_twice() {
        let cpu = SystemCpu::from_stat("cpu  100 1 20 300 4 5 6 70 90 1\ncpu0 1 2 3\n", 10);
        assert_eq!(
            cpu,
            SystemCpu {
                total_ns: 5_060,
                steal_ns: 700,
                idle_ns: 3_040,
            }
        );
    }

    #[test]
    fn all_cpus_together_pass_their_number_times_the_clock() {
        let mut seen = Vec::new();
        // A machine that stands still does so between two looks at the clock and at the CPUs too.
        let is_passed = (0..10).any(|_| {
            let ratio = passed_to_expected();
            seen.push(ratio);
            (0.8..1.2).contains(&ratio)
        });
        assert!(is_passed, "{seen:?}");
    }

    /// CPU time of all CPUs together during half a second, as a ratio to what should have passed.
    fn passed_to_expected() -> f64 {
        let before = SystemCpu::now().unwrap();
        let start = Instant::now();
        thread::sleep(Duration::from_millis(500));
        let passed = SystemCpu::now().unwrap().since(&before);
        let text = fs::read_to_string("/proc/stat").unwrap();
        let cpus = text.lines().filter(|line| line.starts_with("cpu")).count() - 1;
        let expected = start.elapsed().as_nanos() as f64 * cpus as f64;
        assert!(passed.steal_ns <= passed.total_ns);
        passed.total_ns as f64 / expected
    }
}
