//! Cells as bytes or as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_model::CellEncoding;

use crate::error::CellError;

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
