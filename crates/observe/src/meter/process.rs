//! One process.

use std::time::Duration;

use super::io::Io;
use super::{Meter, Part, Usage};
use crate::error::Result;
use crate::process_cpu::ProcessCpu;
use crate::run_queue::RunQueueWaits;
use crate::thread_status::Memory;

/// One process with all its threads, those that have ended too; not what it starts.
#[derive(Debug)]
pub struct ProcessMeter(ProcessCpu);

impl ProcessMeter {
    /// That of the process `pid`, which may belong to any user.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn open(pid: u32) -> Result<Self> {
        ProcessCpu::open(pid).map(Self)
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// True until the process has ended.
    pub fn is_alive(&self) -> bool {
        self.0.read().is_ok()
    }
}

impl Meter for ProcessMeter {
    fn read(&self) -> Result<Usage> {
        let (cpu, faults) = self.0.read_with_faults()?;
        let threads = self.0.threads().ok();
        Ok(Usage::of(Part {
            cpu,
            context_switches: threads.map(|threads| threads.context_switches),
            faults: Some(faults),
            peak_memory_bytes: threads.and_then(|threads| Memory::peak_of(threads.memory)),
            waits: RunQueueWaits::of(self.0.pid()),
            ended_ns: 0,
            io: Io::of(self.0.pid()),
            hardware: None,
        }))
    }

    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        self.0.settle(quiet_for, at_most)
    }
}
