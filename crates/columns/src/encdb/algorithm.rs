//! The layout of a cell, and the algorithms that its header numbers.

use ciphertax_model::CellAlgorithm;
use openssl::error::ErrorStack;
use openssl::hash::{Hasher, MessageDigest};

use super::FORMAT;
use crate::cell::{CellError, CellKind};

/// The cipher and the mode of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Algorithm {
    pub(super) cipher: BlockCipher,
    pub(super) mode: Mode,
}

/// What encrypts a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCipher {
    Aes128,
    Sm4,
    /// Nothing does: the plaintext itself.
    Wrapped,
}

/// How blocks hang together, and so what a body is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Vector of 12 bytes, tag of 16, ciphertext.
    Gcm,
    /// Ciphertext, padded.
    Ecb,
    /// Vector of 16 bytes, ciphertext. No implementation makes such cells; all read them.
    Ctr,
    /// Vector of 16 bytes, ciphertext, padded.
    Cbc,
}

/// The code of a wrapped cell, which is ours: the format's end at 8, and none of its clients knows this one.
const WRAPPED: u8 = 0xf0;

impl Algorithm {
    /// That of a header's code; `None` if there is none.
    pub(super) fn of_code(code: u8) -> Option<Self> {
        let (cipher, mode) = match code {
            0 => (BlockCipher::Aes128, Mode::Gcm),
            1 => (BlockCipher::Aes128, Mode::Ecb),
            2 => (BlockCipher::Aes128, Mode::Ctr),
            3 => (BlockCipher::Aes128, Mode::Cbc),
            4 => (BlockCipher::Sm4, Mode::Cbc),
            5 => (BlockCipher::Sm4, Mode::Ecb),
            6 => (BlockCipher::Sm4, Mode::Ctr),
            7 => (BlockCipher::Sm4, Mode::Gcm),
            WRAPPED => (BlockCipher::Wrapped, Mode::Gcm),
            _ => return None,
        };
        Some(Self { cipher, mode })
    }

    /// That of what cells are made with.
    pub(super) fn of(algorithm: CellAlgorithm) -> Self {
        let (cipher, mode) = match algorithm {
            CellAlgorithm::Aes128Gcm => (BlockCipher::Aes128, Mode::Gcm),
            CellAlgorithm::Aes128Ecb => (BlockCipher::Aes128, Mode::Ecb),
            CellAlgorithm::Aes128Cbc => (BlockCipher::Aes128, Mode::Cbc),
            CellAlgorithm::Sm4Cbc => (BlockCipher::Sm4, Mode::Cbc),
            CellAlgorithm::Sm4Ecb => (BlockCipher::Sm4, Mode::Ecb),
            CellAlgorithm::Sm4Gcm => (BlockCipher::Sm4, Mode::Gcm),
            CellAlgorithm::Wrapped => (BlockCipher::Wrapped, Mode::Gcm),
        };
        Self { cipher, mode }
    }

    /// Its code in a header.
    pub(super) fn code(self) -> u8 {
        match (self.cipher, self.mode) {
            (BlockCipher::Aes128, Mode::Gcm) => 0,
            (BlockCipher::Aes128, Mode::Ecb) => 1,
            (BlockCipher::Aes128, Mode::Ctr) => 2,
            (BlockCipher::Aes128, Mode::Cbc) => 3,
            (BlockCipher::Sm4, Mode::Cbc) => 4,
            (BlockCipher::Sm4, Mode::Ecb) => 5,
            (BlockCipher::Sm4, Mode::Ctr) => 6,
            (BlockCipher::Sm4, Mode::Gcm) => 7,
            (BlockCipher::Wrapped, _) => WRAPPED,
        }
    }

    /// The vector that the format itself gives deterministic cells: the first bytes of `hash(plaintext | check)`, where the hash is
    /// SM3 for SM4-CBC and SHA-256 for the others. It needs no key.
    pub(super) fn unkeyed_vector(self, plaintext: &[u8], check: u8) -> Result<[u8; 16], ErrorStack> {
        let hash = match (self.cipher, self.mode) {
            (BlockCipher::Sm4, Mode::Cbc) => MessageDigest::sm3(),
            _ => MessageDigest::sha256(),
        };
        let mut hasher = Hasher::new(hash)?;
        hasher.update(plaintext)?;
        hasher.update(&[check])?;
        let digest = hasher.finish()?;
        let mut vector = [0; 16];
        vector.copy_from_slice(&digest[..16]);
        Ok(vector)
    }

    /// What the library calls it.
    pub(super) fn name(self) -> &'static str {
        match (self.cipher, self.mode) {
            (BlockCipher::Aes128, Mode::Gcm) => "AES-128-GCM",
            (BlockCipher::Aes128, Mode::Ecb) => "AES-128-ECB",
            (BlockCipher::Aes128, Mode::Ctr) => "AES-128-CTR",
            (BlockCipher::Aes128, Mode::Cbc) => "AES-128-CBC",
            (BlockCipher::Sm4, Mode::Gcm) => "SM4-GCM",
            (BlockCipher::Sm4, Mode::Ecb) => "SM4-ECB",
            (BlockCipher::Sm4, Mode::Ctr) => "SM4-CTR",
            (BlockCipher::Sm4, Mode::Cbc) => "SM4-CBC",
            (BlockCipher::Wrapped, _) => "wrapped",
        }
    }

    /// True if a session that makes cells of this algorithm reads those of another. Whoever may change cells can rewrite one of GCM
    /// as one of CTR, which is its cipher without the tag: a session that has tags reads none without.
    pub(super) fn reads(self, other: Self) -> bool {
        match (self.cipher, other.cipher) {
            (BlockCipher::Wrapped, BlockCipher::Wrapped) => true,
            (BlockCipher::Wrapped, _) | (_, BlockCipher::Wrapped) => false,
            _ => self.mode != Mode::Gcm || other.mode == Mode::Gcm,
        }
    }
}

impl Mode {
    /// Bytes of its vector.
    pub(super) fn vector_bytes(self) -> usize {
        match self {
            Self::Gcm => 12,
            Self::Ecb => 0,
            Self::Ctr | Self::Cbc => 16,
        }
    }

    /// Bytes of its tag.
    pub(super) fn tag_bytes(self) -> usize {
        if self == Self::Gcm { 16 } else { 0 }
    }
}

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
