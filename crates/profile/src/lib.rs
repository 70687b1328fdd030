//! Stacks of running processes, which go on running: which code uses their CPU time, and what their threads wait for.
//!
//! [`CpuProfiler`] has the kernel sample what runs, [`WaitSampler`] looks at what does not. Both keep registers and a copy of the
//! stack while a slice runs; only after it [`Stacks`] unwinds them and names what it finds.

mod cpu;
mod stacks;
mod waits;

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub use cpu::{CpuProfiler, affordable_hz};
pub use stacks::{Registers, Stacks, UserStack};
pub use waits::WaitSampler;

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, ProfileError>;

/// Why something could not be looked into. None of it keeps a run from going on.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The kernel does not let this user see it.
    #[error("{what} is refused: {cause}; {remedy}")]
    Refused {
        /// What.
        what: &'static str,
        /// The system's word.
        cause: io::Error,
        /// What the user can do about it.
        remedy: &'static str,
    },
    /// Something could not be read.
    #[error("cannot read {what}: {cause}")]
    Read {
        /// What.
        what: String,
        /// The system's word.
        cause: io::Error,
    },
    /// The process of this number has ended.
    #[error("process {0} has ended")]
    ProcessEnded(u32),
}

/// The processes of a server, and the load threads of this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watched {
    /// The server's processes; empty where they cannot be seen.
    pub server: Vec<u32>,
    /// True if the server starts processes that serve its connections: those it has, and those it starts meanwhile, are its own.
    pub with_children: bool,
    /// This process's load threads, by their thread numbers; empty where a program of the user's own is the load.
    pub client: Vec<u32>,
}

/// What the calling thread has used.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}
