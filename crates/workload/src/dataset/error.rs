//! Why there is no data set.

use ciphertax_engine::Failure;
use ciphertax_wire::WireError;

use super::schema::SCHEMA;

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A schema of the name exists that ciphertax did not make; what it is called there.
    #[error(
        "the server has a {0} named {SCHEMA} that ciphertax did not make; it is left alone: rename it, or measure \
         another server"
    )]
    NotOurs(&'static str),
    /// The server said no, or went away.
    #[error("the data set cannot be made: {0}")]
    Wire(#[from] WireError),
    /// The server said no, or went away, where its answers are known by their meaning alone.
    #[error("the data set cannot be made: {}", .0.message())]
    Failed(Failure),
    /// Somebody wanted to stop.
    #[error("the data set is not complete: stopped")]
    Stopped,
    /// What is there is not what was written.
    #[error("the data set is not what was written: {0}")]
    Wrong(String),
}

impl From<Failure> for DatasetError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
