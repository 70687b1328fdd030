//! CPU time, waits for a CPU, context switches, page faults, memory, disks, pressure, steal and host facts from the kernel.
//!
//! Nothing here samples: every figure is the difference of two readings of a clock or counter. The kernel keeps these anyway,
//! so that watching a process costs it nothing, but for the CPU's own counters, which it has to save whenever it
//! switches from a thread that is counted.

mod cpu_time;
mod device;
mod file_system;
mod host;
mod listener;
mod meter;
pub mod perf_event;
pub mod placement;
mod thread_status;

use std::io;

pub use cpu_time::{SystemCpu, ThreadUsage};
pub use device::{Device, DeviceUsage, Storage};
pub use file_system::{FileSystemMeter, FileSystemUsage, FileSystemUsed, SharedWork};
pub use host::{host, kernel_cipher, pressure};
pub use listener::{
    SocketOwner, inner_pid_and_parent, is_of_this_machine, listener, port_listener, session_owner,
    socket_listener,
};
pub use meter::{Meter, OwnThreads, ProcessMeter, ProcessTree, Unmetered, Usage, Used};
pub use perf_event::{HardwareCounters, HardwareReading, has_hardware_counters};
pub use placement::FewerCpus;
pub use thread_status::{
    RunQueueWaits, children, children_of_thread, own_peak_memory_bytes, thread_run_queue_wait_ns, threads,
};

/// Nanoseconds in a kernel tick, the unit of `/proc`: 10 ms on every usual system.
fn tick_ns() -> u64 {
    1_000_000_000 / procfs::ticks_per_second().max(1)
}

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be observed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process of this number ended; the number may belong to another one by now.
    #[error("process {0} has ended")]
    ProcessEnded(u32),
    /// It cannot be read whose usage is asked for, for this reason.
    #[error("{0}")]
    Unmetered(String),
    /// The kernel does not tell.
    #[error("cannot read {what}: {cause}")]
    Read {
        /// What was to be read.
        what: String,
        /// The system's word.
        cause: io::Error,
    },
}

impl Error {
    /// For `map_err` after reading `what`.
    pub(crate) fn read(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Read {
            what: what.into(),
            cause,
        }
    }
}
