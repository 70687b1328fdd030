//! What the kernel counts between the edges of a slice, besides CPU time.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

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
    /// Reads that it completed; absent in records of former releases, as are the following.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Writes that it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Sum of the times that requests were with it, waiting or being worked on, in nanoseconds, in steps of a millisecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_ns: Option<u64>,
    /// Flushes of its cache that it completed; absent where the kernel does not count them. A device that needs none, because
    /// it keeps what it acknowledged, has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Sum of the times that they took, in nanoseconds, in steps of a millisecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_ns: Option<u64>,
}

impl DeviceUse {
    /// How many requests were with it at a time, on average over this time.
    pub fn queue_length(&self, duration_ns: u64) -> Option<f64> {
        Some(self.queue_ns? as f64 / (duration_ns as f64).max(1.0))
    }

    /// How long a flush took on average, in nanoseconds; `None` where there were none.
    pub fn mean_flush_ns(&self) -> Option<f64> {
        let flushes = self.flushes.filter(|flushes| *flushes > 0)?;
        Some(self.flush_ns? as f64 / flushes as f64)
    }
}

/// Adds another time's use. What one of both does not know, the sum does not.
impl AddAssign for DeviceUse {
    fn add_assign(&mut self, more: Self) {
        let sum = |one: Option<u64>, more: Option<u64>| Some(one? + more?);
        self.busy_ns += more.busy_ns;
        self.read_bytes += more.read_bytes;
        self.written_bytes += more.written_bytes;
        self.reads = sum(self.reads, more.reads);
        self.writes = sum(self.writes, more.writes);
        self.queue_ns = sum(self.queue_ns, more.queue_ns);
        self.flushes = sum(self.flushes, more.flushes);
        self.flush_ns = sum(self.flush_ns, more.flush_ns);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_a_former_release_is_read_and_says_nothing_of_flushes() {
        let former = r#"{"busy_ns":5,"read_bytes":6,"written_bytes":7}"#;
        let former: DeviceUse = serde_json::from_str(former).unwrap();
        assert_eq!((former.busy_ns, former.flushes), (5, None));
        assert_eq!((former.mean_flush_ns(), former.queue_length(10)), (None, None));
        let mut sum = DeviceUse {
            flushes: Some(4),
            flush_ns: Some(10),
            queue_ns: Some(30),
            ..former
        };
        assert_eq!(
            (sum.mean_flush_ns(), sum.queue_length(10)),
            (Some(2.5), Some(3.0))
        );
        sum += former;
        assert_eq!((sum.busy_ns, sum.flushes), (10, None));
        let none = DeviceUse {
            flushes: Some(0),
            flush_ns: Some(0),
            ..DeviceUse::default()
        };
        assert_eq!(none.mean_flush_ns(), None);
    }

    #[test]
    fn pressure_that_is_not_kept_is_absent_and_a_clock_that_falls_tells_nothing() {
        let of = |cpu, io| Pressure {
            cpu_some_ns: cpu,
            io_some_ns: io,
            ..Pressure::default()
        };
        assert_eq!(of(Some(9), Some(9)).since(&of(Some(4), None)), of(Some(5), None));
        assert_eq!(of(Some(3), None).since(&of(Some(4), None)), of(None, None));
        assert_eq!(
            serde_json::to_string(&of(None, Some(1))).unwrap(),
            r#"{"io_some_ns":1}"#
        );
        let faults = |minor, major| PageFaults { minor, major };
        assert_eq!(faults(9, 1).since(&faults(4, 1)), Some(faults(5, 0)));
        assert_eq!(faults(9, 0).since(&faults(4, 1)), None);
    }
}
