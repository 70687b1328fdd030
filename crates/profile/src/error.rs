//! What can go wrong.

use std::io;

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
    /// The process has ended.
    #[error("process {pid} has ended")]
    ProcessEnded {
        /// Its number.
        pid: u32,
    },
}
