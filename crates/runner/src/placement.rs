//! Where the threads of private servers run.

use ciphertax_observe::placement;

use crate::error::RunError;

/// Keeps a private server on one CPU, and says on which: the same for all.
pub(crate) fn confined(pid: u32) -> Result<usize, RunError> {
    let cpu = placement::last_allowed_cpu().map_err(RunError::Placement)?;
    placement::confine_process(pid, cpu).map_err(RunError::Placement)?;
    Ok(cpu)
}
