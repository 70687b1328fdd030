//! Stacks of running processes, which go on running: which code uses their CPU time, and what their threads wait for.
//!
//! [`CpuProfiler`] has the kernel sample what runs, [`WaitSampler`] looks at what does not. Both keep registers and a copy of the
//! stack while a slice runs; only after it [`Stacks`] unwinds them and names what it finds.

mod cpu;
mod error;
mod stacks;
mod waits;
mod watched;

pub use cpu::{CpuProfiler, affordable_hz};
pub use error::{ProfileError, Result};
pub use stacks::{Registers, Stacks, UserStack};
pub use waits::WaitSampler;
pub use watched::Watched;
