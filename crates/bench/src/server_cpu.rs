//! The CPU time of a private server.

use std::time::Duration;

use ciphertax_observe::ProcessCpu;

use crate::Result;

/// The CPU clock of a private server.
pub struct ServerCpu(ProcessCpu);

impl ServerCpu {
    /// That of the process with this number.
    ///
    /// # Errors
    /// If there is none, or the kernel does not say.
    pub fn of(pid: u32) -> Result<Self> {
        Ok(Self(ProcessCpu::open(pid)?))
    }

    /// CPU time in nanoseconds, read when the server is quiet.
    ///
    /// # Errors
    /// If its process has ended.
    pub fn read_ns(&self) -> Result<u64> {
        self.0
            .settle(Duration::from_millis(1), Duration::from_millis(50))?;
        Ok(self.0.read()?.total_ns)
    }
}
