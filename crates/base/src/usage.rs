//! What the kernel counts between the edges of a slice.

use std::iter::Sum;
use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU time split as the kernel splits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// User and system time together, in nanoseconds: exact to the scheduler's clock, but for children of a process tree that
    /// have ended, which the kernel counts in ticks.
    pub total_ns: u64,
    /// The part in the kernel, in nanoseconds; for a server from ticks of 10 ms, so only sums over slices mean much.
    pub system_ns: u64,
}

impl CpuTime {
    /// What was used since an earlier reading of the same clock.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}

impl AddAssign for CpuTime {
    fn add_assign(&mut self, more: Self) {
        self.total_ns += more.total_ns;
        self.system_ns += more.system_ns;
    }
}

impl Sum for CpuTime {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |mut sum, more| {
            sum += more;
            sum
        })
    }
}

/// What the CPU itself counted, in programs and in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HardwareCounts {
    /// Instructions that were completed.
    pub instructions: u64,
    /// Cycles of the CPU, whose length follows its frequency.
    pub cycles: u64,
}

impl AddAssign for HardwareCounts {
    fn add_assign(&mut self, more: Self) {
        self.instructions += more.instructions;
        self.cycles += more.cycles;
    }
}

/// What a block device did, whoever asked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceUse {
    /// How long it had a request to work on, in nanoseconds, in steps of a millisecond. A device that works on many requests
    /// at a time is not full when it is always busy.
    pub busy_ns: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
    /// Reads that it completed.
    pub reads: u64,
    /// Writes that it completed.
    pub writes: u64,
    /// Sum of the times that requests were with it, waiting or being worked on, in nanoseconds, in steps of a millisecond.
    pub queue_ns: u64,
    /// Flushes of its cache that it completed; absent where the kernel does not count them. A device that needs none, because
    /// it keeps what it acknowledged, has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Sum of the times that they took, in nanoseconds, in steps of a millisecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_ns: Option<u64>,
}

/// Times a page of memory was not where a thread expected it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PageFaults {
    /// Those that needed nothing from a disk: new memory, or a page that was in the kernel's cache.
    pub minor: u64,
    /// Those that had to wait for a disk.
    pub major: u64,
}

impl PageFaults {
    /// Those since an earlier reading; `None` where it is none of the same.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            minor: self.minor.checked_sub(earlier.minor)?,
            major: self.major.checked_sub(earlier.major)?,
        })
    }
}

impl AddAssign for PageFaults {
    fn add_assign(&mut self, more: Self) {
        self.minor += more.minor;
        self.major += more.major;
    }
}

/// How long somebody on this machine, whoever it was, could not go on for want of something, in nanoseconds: the kernel's
/// pressure stall information. Absent is what the kernel does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// Some could have run, but there was no CPU for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_some_ns: Option<u64>,
    /// Some waited for a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_some_ns: Option<u64>,
    /// All that had something to do waited for a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_full_ns: Option<u64>,
    /// Some waited for memory to become free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_some_ns: Option<u64>,
    /// All that had something to do waited for memory to become free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_full_ns: Option<u64>,
}

impl Pressure {
    /// What came to it since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        let since = |now: Option<u64>, earlier: Option<u64>| now?.checked_sub(earlier?);
        Self {
            cpu_some_ns: since(self.cpu_some_ns, earlier.cpu_some_ns),
            io_some_ns: since(self.io_some_ns, earlier.io_some_ns),
            io_full_ns: since(self.io_full_ns, earlier.io_full_ns),
            memory_some_ns: since(self.memory_some_ns, earlier.memory_some_ns),
            memory_full_ns: since(self.memory_full_ns, earlier.memory_full_ns),
        }
    }
}

/// Where it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Operating system, as it names itself.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The hypervisor or `none`; `unknown` where it cannot be told.
    pub virtualization: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_that_is_not_kept_is_absent_and_a_clock_that_falls_tells_nothing() {
        let of = |cpu, io| Pressure {
            cpu_some_ns: cpu,
            io_some_ns: io,
            ..Pressure::default()
        };
        assert_eq!(of(Some(9), Some(9)).since(&of(Some(4), None)), of(Some(5), None));
        assert_eq!(of(Some(3), None).since(&of(Some(4), None)), of(None, None));
        let found = serde_json::to_string(&of(None, Some(1))).unwrap();
        assert_eq!(found, r#"{"io_some_ns":1}"#);
        let faults = |minor, major| PageFaults { minor, major };
        assert_eq!(faults(9, 1).since(&faults(4, 1)), Some(faults(5, 0)));
        assert_eq!(faults(9, 0).since(&faults(4, 1)), None);
    }
}
