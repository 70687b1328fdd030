//! One process.

use std::time::Duration;

use super::io::Io;
use super::{Meter, Part, Usage};
use crate::error::Result;
use crate::process_cpu::ProcessCpu;
use crate::run_queue::RunQueueWaits;

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

    /// True until the process has ended.
    pub fn is_alive(&self) -> bool {
        self.0.read().is_ok()
    }
}

impl Meter for ProcessMeter {
    fn read(&self) -> Result<Usage> {
        Ok(Usage::of(Part {
            cpu: self.0.read()?,
            context_switches: self.0.context_switches().ok(),
            waits: RunQueueWaits::of(self.0.pid()),
            ended_ns: 0,
            io: Io::of(self.0.pid()),
        }))
    }

    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        self.0.settle(quiet_for, at_most)
    }
}
