//! What can go wrong.

use std::io;

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be observed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process ended; its number may belong to another one by now.
    #[error("process {pid} has ended")]
    ProcessEnded {
        /// Its number.
        pid: u32,
    },
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
