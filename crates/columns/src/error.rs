//! What can be wrong with keys and cells.

use thiserror::Error;

/// A master key that is none, or that cannot be used.
#[derive(Debug, Error)]
pub enum KeyError {
    /// It is not written as such a key is.
    #[error("a master key is 32 hexadecimal digits, and this is {0}")]
    Malformed(String),
    /// The file cannot be read.
    #[error("the master key in {path}: {error}")]
    File {
        /// Which.
        path: std::path::PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The library lacks what is asked for.
    #[error("{0}")]
    Unavailable(String),
}

/// Refuses a plaintext of more than `most` bytes.
pub(crate) fn check_length(plaintext: &[u8], most: usize) -> Result<(), CellError> {
    let length = plaintext.len();
    match length <= most {
        true => Ok(()),
        false => Err(CellError::Library(format!(
            "{length} bytes are too long for a cell"
        ))),
    }
}

/// A cell that cannot be made or read. Nothing of its contents is in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CellError {
    /// It is no cell of this format.
    #[error("is no cell of {format}: {reason}")]
    Malformed {
        /// Which format was expected.
        format: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// It was changed, or made with another key.
    #[error("cannot be authenticated: it was changed, or made with another key than this one ({key_number})")]
    NotAuthentic {
        /// By what the key is known, which is no secret: a nonce or a key id, in hexadecimal digits.
        key_number: String,
    },
    /// The library failed.
    #[error("cannot be worked on: {0}")]
    Library(String),
}
