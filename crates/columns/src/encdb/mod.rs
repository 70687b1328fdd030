//! EncDB's cells, version 64, as PolarDB-X and PolarDB MySQL send them in results.
//!
//! `check(1) | 64 | MySQL type(1) | algorithm(1) | nonce(8) | body`, as bytes or as Base64 with padding; the check is the exclusive or
//! of all bytes after it. The body of GCM is `vector(12) | tag(16) | ciphertext`, of CBC and CTR `vector(16) | ciphertext`, of ECB
//! `ciphertext`; what is encrypted is the plaintext and the exclusive or of its bytes, with no associated data. So the header is not
//! authenticated: whoever changes a type and the check with it is not noticed.
//!
//! The data key is derived from the master key with the nonce ([`Derivation`]). Deterministic cells have the format's own vectors,
//! which are there for compatibility: an unkeyed hash of the plaintext, by which it can be guessed.

mod algorithm;
pub mod exchange;
#[cfg(test)]
mod tests;

use ciphertax_model::{CellMode, ColumnEncryption};
use openssl::error::ErrorStack;

use crate::aes::RandomPool;
use crate::cell::{CellError, CellKind, Encoded, KeyError, Result, check_length, hexadecimal};
use crate::key::MasterKey;
pub use algorithm::Derivation;
use algorithm::{
    Algorithm, BlockCipher, Decryptors, Encryptor, HEADER, Layout, Mode, Nonce, VERSION, malformed, xor,
};

/// What errors call the format.
const FORMAT: &str = "encdb";

/// Bytes of a plaintext at most: the largest value that MySQL's protocol carries.
const MOST: usize = 1 << 30;

/// Encrypts and decrypts the cells of one session.
pub struct Cipher {
    encoded: Encoded,
    cells: Cells,
}

/// Encrypts and decrypts cells as bytes.
struct Cells {
    algorithm: Algorithm,
    mode: CellMode,
    nonce: Nonce,
    /// `None` for wrapped cells.
    encryptor: Option<Encryptor>,
    decryptors: Decryptors,
    random: RandomPool,
}

impl Cipher {
    /// A cipher whose data keys are derived as PolarDB-X derives them.
    ///
    /// # Errors
    /// When the library lacks the algorithm.
    pub fn open(encryption: &ColumnEncryption, key: &MasterKey) -> Result<Self, KeyError> {
        Self::with_derivation(encryption, key, Derivation::default())
    }

    /// A cipher whose data keys are derived as a server's cipher suite says.
    ///
    /// # Errors
    /// As [`Cipher::open`].
    pub fn with_derivation(
        encryption: &ColumnEncryption,
        key: &MasterKey,
        derivation: Derivation,
    ) -> Result<Self, KeyError> {
        derivation
            .nonce(encryption, key)
            .and_then(|nonce| Self::with_nonce(encryption, key, derivation, nonce))
            .map_err(|error| {
                let algorithm: &str = encryption.algorithm.into();
                KeyError::Unavailable(format!("no cells of {FORMAT} with {algorithm}: {error}"))
            })
    }

    fn with_nonce(
        encryption: &ColumnEncryption,
        key: &MasterKey,
        derivation: Derivation,
        nonce: Nonce,
    ) -> Result<Self, ErrorStack> {
        let algorithm = Algorithm::of(encryption.algorithm);
        let encryptor = match algorithm.cipher {
            BlockCipher::Wrapped => None,
            _ => Some(Encryptor::new(algorithm, &*derivation.data_key(key, &nonce)?)?),
        };
        Ok(Self {
            encoded: Encoded::new(encryption.encoding),
            cells: Cells {
                algorithm,
                mode: encryption.mode,
                nonce,
                encryptor,
                decryptors: Decryptors::new(key.clone(), derivation),
                random: RandomPool::default(),
            },
        })
    }

    /// Appends the cell of a plaintext.
    ///
    /// # Errors
    /// When the library fails, or the plaintext is longer than 1 GiB; nothing is appended then.
    pub fn encrypt(&mut self, kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<()> {
        check_length(plaintext, MOST)?;
        let Self { encoded, cells } = self;
        encoded.write(cell, |cell| cells.append(kind, plaintext, cell))
    }

    /// Appends the plaintext of a cell.
    ///
    /// # Errors
    /// When it is no cell, was changed or cut off, is another key's, or has no tag where this session's cells have one; nothing is
    /// appended then.
    pub fn decrypt(&mut self, cell: &[u8], plaintext: &mut Vec<u8>) -> Result<CellKind> {
        let Self { encoded, cells } = self;
        encoded.read(FORMAT, cell, plaintext, |cell, plaintext| {
            cells.read(cell, plaintext)
        })
    }
}

impl Cells {
    /// Appends the bytes of a cell.
    fn append(&mut self, kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<()> {
        let start = cell.len();
        let check = xor(plaintext);
        cell.reserve(HEADER + 28 + plaintext.len() + 1 + algorithm::BLOCK);
        cell.extend_from_slice(&[0, VERSION, kind.0, self.algorithm.code()]);
        cell.extend_from_slice(&self.nonce);
        // Of the 16 bytes of a vector, the first are those of a shorter one.
        let vector = match (self.algorithm.cipher, self.algorithm.mode, self.mode) {
            (BlockCipher::Wrapped, ..) | (_, Mode::Ecb, _) => [0; 16],
            (_, _, CellMode::Random) => self.random.take()?,
            (.., CellMode::Deterministic) => {
                self.algorithm.unkeyed_vector(plaintext, check).map_err(library)?
            }
        };
        let vector = &vector[..self.algorithm.mode.vector_bytes()];
        cell.extend_from_slice(vector);
        cell.extend_from_slice(&[0; 16][..self.algorithm.mode.tag_bytes()]);
        let encrypted = cell.len();
        cell.extend_from_slice(plaintext);
        cell.push(check);
        if let Some(encryptor) = &mut self.encryptor {
            encryptor.encrypt(vector, cell, encrypted).map_err(library)?;
        }
        cell[start] = xor(&cell[start + 1..]);
        Ok(())
    }

    /// Appends the plaintext of a cell, or something else before an error.
    fn read(&mut self, cell: &[u8], plaintext: &mut Vec<u8>) -> Result<CellKind> {
        let layout = Layout::of(cell)?;
        if !self.algorithm.reads(layout.algorithm) {
            let (theirs, ours) = (layout.algorithm.name(), self.algorithm.name());
            return Err(malformed(format!(
                "its algorithm is {theirs}, and this session's {ours}"
            )));
        }
        let start = plaintext.len();
        match layout.algorithm.cipher {
            BlockCipher::Wrapped => {
                if layout.vector.iter().chain(layout.tag).any(|byte| *byte != 0) {
                    return Err(malformed("a wrapped cell has neither vector nor tag".to_owned()));
                }
                plaintext.extend_from_slice(layout.ciphertext);
            }
            _ => self.decryptors.decrypt(&layout, plaintext)?,
        }
        // A tag vouches for the bytes, but not that whoever made them followed the format.
        if plaintext.len() == start || xor(&plaintext[start..]) != 0 {
            return Err(not_authentic(&layout.nonce));
        }
        plaintext.pop();
        Ok(layout.kind)
    }
}

fn library(error: ErrorStack) -> CellError {
    CellError::Library(error.to_string())
}

fn not_authentic(nonce: &Nonce) -> CellError {
    CellError::NotAuthentic(hexadecimal(nonce))
}
