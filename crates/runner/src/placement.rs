//! Where the threads of private servers run.

use std::io;

use ciphertax_observe::placement;

use crate::error::RunError;
use crate::meter::ServerMeter;

/// Keeps a private server, whose first process is `pid`, on one CPU, and says on which: the same for all.
pub(crate) fn confined(pid: u32, server: &ServerMeter) -> Result<usize, RunError> {
    let cpu = placement::last_allowed_cpu().map_err(RunError::Placement)?;
    // What it starts from now on stays there too; what it has started is found afterwards.
    placement::confine_process(pid, cpu).map_err(RunError::Placement)?;
    for started in server.members()? {
        match placement::confine_process(started, cpu) {
            // It has ended meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            confined => confined.map_err(RunError::Placement)?,
        }
    }
    Ok(cpu)
}
