//! Why there is no relay that encrypts cells.

use std::path::PathBuf;

use crate::asked_process::Fault;

/// Why a relay that encrypts cells cannot be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum ColumnRelayError {
    /// It could not do what it was asked for.
    #[error("the relay that encrypts columns cannot be started: {problem}")]
    Refused {
        /// Its own words.
        problem: String,
    },
    /// Its process has ended or does not answer.
    #[error("the process {pid} of the relay that encrypts columns is gone ({problem}); it says: {log}")]
    Gone {
        /// Its number.
        pid: u32,
        /// How that showed.
        problem: String,
        /// Last lines of its log.
        log: String,
    },
    /// The guard's folder is not where the process listens.
    #[error("cannot speak with the relay that encrypts columns at {socket}: {cause}")]
    Unreachable {
        /// Where it should listen.
        socket: PathBuf,
        /// The system's word.
        cause: std::io::Error,
    },
}

impl From<Fault> for ColumnRelayError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused { problem } => Self::Refused { problem },
            Fault::Gone { pid, problem, log } => Self::Gone { pid, problem, log },
            Fault::Unreachable { socket, cause } => Self::Unreachable { socket, cause },
        }
    }
}
