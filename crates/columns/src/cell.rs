//! Cells, whichever their format, as bytes or as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_model::CellEncoding;
use thiserror::Error;

/// What a plaintext is, by the type code of MySQL's protocol (`3` for INT, `253` for VARCHAR, `246` for DECIMAL, `12` for
/// DATETIME); MongoDB's formats translate it to BSON's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellKind(pub u8);

/// How cells travel, with a buffer for their bytes where that is as text.
pub(crate) struct Encoded {
    encoding: CellEncoding,
    bytes: Vec<u8>,
}

impl Encoded {
    pub(crate) fn new(encoding: CellEncoding) -> Self {
        Self {
            encoding,
            bytes: Vec::new(),
        }
    }

    /// Appends to `cell` what `append` makes; nothing if that fails.
    pub(crate) fn write(
        &mut self,
        cell: &mut Vec<u8>,
        append: impl FnOnce(&mut Vec<u8>) -> Result<(), CellError>,
    ) -> Result<(), CellError> {
        let start = cell.len();
        match self.encoding {
            CellEncoding::Binary => append(cell).inspect_err(|_| cell.truncate(start)),
            CellEncoding::Base64 => {
                self.bytes.clear();
                append(&mut self.bytes)?;
                cell.resize(start + self.bytes.len().div_ceil(3) * 4, 0);
                let written = STANDARD.encode_slice(&self.bytes, &mut cell[start..]);
                debug_assert_eq!(written, Ok(cell.len() - start));
                Ok(())
            }
        }
    }

    /// Appends to `plaintext` what `append` makes of the cell's bytes; nothing if that fails, or they are no text of this
    /// `format`.
    pub(crate) fn read<T>(
        &mut self,
        format: &'static str,
        cell: &[u8],
        plaintext: &mut Vec<u8>,
        append: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<T, CellError>,
    ) -> Result<T, CellError> {
        let start = plaintext.len();
        let bytes = match self.encoding {
            CellEncoding::Binary => cell,
            CellEncoding::Base64 => {
                self.bytes.clear();
                // The error would tell the byte that is wrong.
                let decoded = STANDARD.decode_vec(cell, &mut self.bytes);
                decoded.map_err(|_| CellError::Malformed {
                    format,
                    reason: format!("{} bytes of text are no Base64", cell.len()),
                })?;
                &self.bytes
            }
        };
        append(bytes, plaintext).inspect_err(|_| plaintext.truncate(start))
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A master key that is none, or that cannot be used.
#[derive(Debug, Error)]
pub enum KeyError {
    /// It is not written as such a key is.
    #[error("a master key is 32 hexadecimal digits, and this is {0}")]
    Malformed(String),
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

/// Result of what is done with cells.
pub(crate) type Result<T, E = CellError> = std::result::Result<T, E>;

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
    /// It was changed, or made with another key than the one known by this, which is no secret: a nonce or a key id, in hexadecimal
    /// digits.
    #[error("cannot be authenticated: it was changed, or made with another key than this one ({0})")]
    NotAuthentic(String),
    /// The library failed.
    #[error("cannot be worked on: {0}")]
    Library(String),
}
