//! CPU time, waits for a CPU, context switches, page faults, memory, disks, pressure, steal and host facts from the kernel.
//!
//! Nothing here samples: every figure is the difference of two readings of a clock or counter. The kernel keeps these anyway,
//! so that watching a process costs it nothing, but for the CPU's own counters, which it has to save whenever it
//! switches from a thread that is counted.

mod clock;
mod device;
mod error;
mod fewer_cpus;
mod file_system;
mod hardware;
mod host;
mod kernel_cipher;
mod listener;
mod meter;
pub mod perf_event;
pub mod placement;
mod pressure;
mod process_cpu;
mod run_queue;
mod system_cpu;
mod thread_cpu;
mod thread_status;

pub use device::{Device, DeviceUsage, Storage};
pub use error::{Error, Result};
pub use fewer_cpus::FewerCpus;
pub use file_system::{FileSystemMeter, FileSystemUsage, FileSystemUsed, SharedWork};
pub use hardware::{HardwareCounters, HardwareReading, has_hardware_counters};
pub use host::host;
pub use kernel_cipher::kernel_cipher;
pub use listener::{Listener, is_of_this_machine, listener, port_listener, socket_listener};
pub use meter::{Meter, OwnThreads, ProcessMeter, ProcessTree, Unmetered, Usage, Used};
pub use pressure::pressure;
pub use process_cpu::ProcessCpu;
pub use run_queue::{RunQueueWaits, thread_run_queue_wait_ns};
pub use system_cpu::SystemCpu;
pub use thread_cpu::ThreadUsage;
pub use thread_status::own_peak_memory_bytes;

/// Nanoseconds in a kernel tick, the unit of `/proc`: 10 ms on every usual system.
fn tick_ns() -> u64 {
    1_000_000_000 / procfs::ticks_per_second().max(1)
}
