//! What is being done for an installation, for whoever waits for it.

use std::fmt;

/// What is being done for an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Another process installs the same server.
    Waiting,
    /// What there is and what it needs is looked up.
    LookingUp,
    /// Files are fetched.
    Fetching {
        /// By which program.
        client: &'static str,
        /// How many packages or files.
        count: usize,
    },
    /// Files are compared with what they must be.
    Verifying,
    /// Files are unpacked.
    Unpacking,
    /// The server is built.
    Building,
    /// The first, empty data folder is made.
    Initialising,
}

impl fmt::Display for InstallStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting for another ciphertax that installs it"),
            Self::LookingUp => f.write_str("looking up packages"),
            Self::Fetching { client, count: 1 } => write!(f, "fetching by {client}"),
            Self::Fetching { client, count } => write!(f, "fetching {count} packages by {client}"),
            Self::Verifying => f.write_str("verifying"),
            Self::Unpacking => f.write_str("unpacking"),
            Self::Building => f.write_str("building, which takes some minutes"),
            Self::Initialising => f.write_str("making its first data folder"),
        }
    }
}
