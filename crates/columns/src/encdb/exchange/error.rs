//! What keeps a server from getting a master key.

use openssl::error::ErrorStack;
use thiserror::Error;

/// What keeps a server from getting a master key. The end of a sentence about the server's answer; the key is never in it.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// It said nothing.
    #[error("the server's answer is empty, or NULL")]
    Empty,
    /// It is longer than any answer.
    #[error("the server's answer has {0} bytes, which no answer has")]
    TooLong(usize),
    /// It is not encoded as answers are.
    #[error("the server's answer is not Base64")]
    NotBase64,
    /// There is something else in the encoding.
    #[error("the server's answer is no JSON (line {line}, column {column})")]
    NotJson {
        /// Where, from 1.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// Something is missing in it, or of another type.
    #[error("the server's answer has no {0}, or not as it should be")]
    Lacks(&'static str),
    /// The server says no.
    #[error("the server refuses, with status {status}: {word}")]
    Refused {
        /// Its number for why.
        status: i64,
        /// Its words, cut off.
        word: String,
    },
    /// A suite that nobody knows.
    #[error("the server's cipher suite is {0:?}, which is none of {known}", known = super::Suite::known())]
    Suite(String),
    /// What goes into a statement could end it.
    #[error(
        "the server's public_key_hash has other characters than letters, digits and +/=_-, or too many: it is in no statement"
    )]
    Hash,
    /// A key that does not fit the suite, or is none.
    #[error("the server's public key {0}")]
    Key(String),
    /// Cells that no server makes.
    #[error("no server can be asked for cells of the algorithm {0}")]
    Algorithm(&'static str),
    /// The library failed.
    #[error("the envelope of the master key cannot be made: {0}")]
    Library(ErrorStack),
}
