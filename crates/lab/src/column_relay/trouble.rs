//! Why a connection through the relay ends.

use ciphertax_columns::CellError;

/// Something that a connection cannot go on after.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Trouble {
    /// A client asked for a part of the protocol that hides from the relay which cells travel, or that it does not follow.
    #[error("it does not follow {0}; leave that out")]
    Unsupported(&'static str),
    /// What a client sent is not MySQL's protocol.
    #[error("the client sent {0}")]
    Client(&'static str),
    /// What a server sent is not MySQL's protocol.
    #[error("the server sent {0}")]
    Server(&'static str),
    /// A cell could not be made.
    #[error("the cell in column {column} of a row {error}")]
    Cell {
        /// Which column of the result, counted from 1.
        column: usize,
        /// Why not.
        error: CellError,
    },
}
