//! Where what lies in a cell.

use super::FORMAT;
use super::algorithm::Algorithm;
use crate::cell::{CellError, CellKind};

/// Bytes before the body: check, version, type, algorithm, nonce.
pub(super) const HEADER: usize = 12;

/// The version of the layout.
pub(super) const VERSION: u8 = 0x40;

/// By what a data key is known: it was derived with this salt. It is drawn once a session, and no secret.
pub(super) type Nonce = [u8; 8];

/// A cell taken apart.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) kind: CellKind,
    pub(super) algorithm: Algorithm,
    pub(super) nonce: Nonce,
    pub(super) vector: &'a [u8],
    pub(super) tag: &'a [u8],
    pub(super) ciphertext: &'a [u8],
}

impl<'a> Layout<'a> {
    /// Takes a cell apart and compares its check.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn of(cell: &'a [u8]) -> Result<Self, CellError> {
        let Some((&[check, version, kind, code, ref nonce @ ..], body)) = cell.split_first_chunk::<HEADER>()
        else {
            return Err(malformed(format!("{} bytes are no header", cell.len())));
        };
        if version != VERSION {
            return Err(malformed(format!("its version is {version}, and not {VERSION}")));
        }
        if xor(cell) != 0 {
            return Err(malformed(format!(
                "its check byte {check} is not that of its bytes"
            )));
        }
        let Some(algorithm) = Algorithm::of_code(code) else {
            return Err(malformed(format!("it knows no algorithm {code}")));
        };
        let too_short = || {
            malformed(format!(
                "{} bytes are too few for {}",
                cell.len(),
                algorithm.name()
            ))
        };
        let (vector, rest) = body
            .split_at_checked(algorithm.mode.vector_bytes())
            .ok_or_else(too_short)?;
        let (tag, ciphertext) = rest
            .split_at_checked(algorithm.mode.tag_bytes())
            .ok_or_else(too_short)?;
        if ciphertext.is_empty() {
            return Err(too_short());
        }
        Ok(Self {
            kind: CellKind(kind),
            algorithm,
            nonce: *nonce,
            vector,
            tag,
            ciphertext,
        })
    }
}

/// All bytes by exclusive or. A cell begins with that of the bytes after it, so that of a whole one is 0.
pub(super) fn xor(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |all, byte| all ^ byte)
}

pub(super) fn malformed(reason: String) -> CellError {
    CellError::Malformed {
        format: FORMAT,
        reason,
    }
}
