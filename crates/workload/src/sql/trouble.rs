//! Operations that the server gives up on, and that are begun anew.

use ciphertax_engine::Failure;
use ciphertax_wire::WireError;

use super::session::SqlSession;
use crate::client::failure;

/// Why an operation did not end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server gave up on it for the sake of another: it is to be begun anew.
    Restart,
    /// It failed.
    Failed(Failure),
}

impl Trouble {
    /// What an error means to who asks over this kind of session.
    pub(crate) fn of<S: SqlSession>(error: WireError) -> Self {
        match S::is_to_be_restarted(&error) {
            true => Self::Restart,
            false => Self::Failed(failure(error)),
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
