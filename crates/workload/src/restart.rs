//! Operations that the server gives up on, and that are begun anew.

use ciphertax_engine::Failure;
use ciphertax_wire::WireError;

use crate::access::failure;

/// Errors after which sysbench begins a transaction anew (`--mysql-ignore-errors`): ER_CHECKREAD,
/// ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK.
const BEGIN_ANEW: [u16; 3] = [1020, 1205, 1213];

/// Why an operation did not end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server gave up on it for the sake of another: it is to be begun anew.
    Restart,
    /// It failed.
    Failed(Failure),
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Server { code, .. } if BEGIN_ANEW.contains(&code) => Self::Restart,
            error => Self::Failed(failure(error)),
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
