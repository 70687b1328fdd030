//! The CPU time of the whole machine.

use std::fs;

use crate::error::{Error, Result};
use crate::tick_ns;

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
        const IDLE: usize = 3;
        const IO_WAIT: usize = 4;
        const STEAL: usize = 7;
        let ticks: Vec<u64> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .take(STEAL + 1)
            .map_while(|word| word.parse().ok())
            .collect();
        let ns_of = |column: usize| ticks.get(column).copied().unwrap_or(0) * tick_ns;
        Self {
            total_ns: ticks.iter().sum::<u64>() * tick_ns,
            steal_ns: ns_of(STEAL),
            idle_ns: ns_of(IDLE) + ns_of(IO_WAIT),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

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
