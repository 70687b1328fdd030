//! The cells of SQL Server's Always Encrypted, AEAD_AES_256_CBC_HMAC_SHA_256.
//!
//! `1 | code(32) | vector(16) | ciphertext`: AES-256-CBC with PKCS #7 padding; the code is the HMAC-SHA-256 of 1, vector,
//! ciphertext, and 1 again, which is the length of the first. The three keys are HMAC-SHA-256, by the column's key of 32 bytes, of
//! sentences in UTF-16. A deterministic vector is the beginning of the HMAC-SHA-256 of the plaintext by the key of vectors
//! (<https://learn.microsoft.com/sql/relational-databases/security/encryption/always-encrypted-cryptography>).
//!
//! A cell does not say of which type its plaintext is: SQL Server keeps that with the column.

use ciphertax_model::{CellEncoding, CellMode, ColumnEncryption};
use openssl::sha::Sha256;
use zeroize::Zeroizing;

use crate::aes::{Aes, BLOCK, Hmac, RandomPool};
use crate::cell::{CellError, CellKind, Encoded, KeyError, Result, check_length, hexadecimal};
use crate::key::{MasterKey, derive};

/// What errors call the format.
const FORMAT: &str = "aead_cbc_hmac";

const VERSION: u8 = 1;
/// Bytes of a code.
const CODE: usize = 32;

/// Bytes of a plaintext at most: the largest value that MySQL's protocol carries.
const MOST: usize = 1 << 30;

/// VAR_STRING, of all that comes back.
const TEXT: CellKind = CellKind(253);

/// Encrypts and decrypts the cells of one session.
pub struct Cipher {
    mode: CellMode,
    codes: Hmac<Sha256>,
    vectors: Hmac<Sha256>,
    aes: Aes,
    random: RandomPool,
    encoded: Encoded,
    key_number: String,
}

impl Cipher {
    /// A cipher by the column's key that is derived from the master key.
    ///
    /// # Errors
    /// When the library lacks an algorithm.
    pub fn open(encryption: &ColumnEncryption, key: &MasterKey) -> Result<Self, KeyError> {
        let mut column_key = Zeroizing::new([0; 32]);
        derive(key, "always encrypted column key", column_key.as_mut_slice())?;
        Self::with_column_key(encryption.mode, encryption.encoding, &column_key)
    }

    /// A cipher by a column's key.
    ///
    /// # Errors
    /// When the library lacks an algorithm.
    pub fn with_column_key(
        mode: CellMode,
        encoding: CellEncoding,
        column_key: &[u8; 32],
    ) -> Result<Self, KeyError> {
        let root = Hmac::<Sha256>::new(column_key);
        let derived = |name: &str| {
            let sentence = format!(
                "Microsoft SQL Server cell {name} key with encryption algorithm:AEAD_AES_256_CBC_HMAC_SHA256 and key length:256"
            );
            let sentence: Vec<u8> = sentence.encode_utf16().flat_map(u16::to_le_bytes).collect();
            Zeroizing::new(root.of(&[&sentence]))
        };
        let number = root.of(&[b"key number"]);
        Ok(Self {
            mode,
            codes: Hmac::new(&derived("MAC")),
            vectors: Hmac::new(&derived("IV")),
            aes: Aes::new(&derived("encryption"))?,
            random: RandomPool::default(),
            encoded: Encoded::new(encoding),
            key_number: hexadecimal(&number[..8]),
        })
    }

    /// Appends the cell of a plaintext.
    ///
    /// # Errors
    /// When the library fails, or the plaintext is longer than 1 GiB; nothing is appended then.
    pub fn encrypt(&mut self, _kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<()> {
        check_length(plaintext, MOST)?;
        self.encoded.write(cell, |cell| {
            let vector = match self.mode {
                CellMode::Random => self.random.take()?,
                CellMode::Deterministic => {
                    let code = self.vectors.of(&[plaintext]);
                    let mut vector = [0; BLOCK];
                    vector.copy_from_slice(&code[..BLOCK]);
                    vector
                }
            };
            let code = cell.len() + 1;
            // With padding, and the block that the library wants besides.
            cell.reserve(1 + CODE + BLOCK + plaintext.len() + 2 * BLOCK);
            cell.push(VERSION);
            cell.extend_from_slice(&[0; CODE]);
            cell.extend_from_slice(&vector);
            let start = cell.len();
            cell.extend_from_slice(plaintext);
            self.aes.encrypt(&vector, cell, start)?;
            let of_cell = self.codes.of(&[&[VERSION], &cell[code + CODE..], &[1]]);
            cell[code..code + CODE].copy_from_slice(&of_cell);
            Ok(())
        })
    }

    /// Appends the plaintext of a cell, which is taken for text.
    ///
    /// # Errors
    /// When it is no cell, was changed or cut off, or is another key's; nothing is appended then.
    pub fn decrypt(&mut self, cell: &[u8], plaintext: &mut Vec<u8>) -> Result<CellKind> {
        self.encoded.read(FORMAT, cell, plaintext, |cell, plaintext| {
            let Some((&[version, ref code @ ..], encrypted)) = cell.split_first_chunk::<{ 1 + CODE }>()
            else {
                return Err(malformed("it is too short"));
            };
            if version != VERSION {
                return Err(malformed("its version is not 1"));
            }
            let Some((vector, ciphertext)) = encrypted.split_first_chunk::<BLOCK>() else {
                return Err(malformed("it is too short"));
            };
            if ciphertext.is_empty() || !ciphertext.len().is_multiple_of(BLOCK) {
                return Err(malformed("it is not whole blocks"));
            }
            if !openssl::memcmp::eq(&self.codes.of(&[&[VERSION], encrypted, &[1]]), code) {
                return Err(CellError::NotAuthentic(self.key_number.clone()));
            }
            match self.aes.decrypt(vector, ciphertext, plaintext)? {
                true => Ok(TEXT),
                false => Err(malformed("its padding is wrong")),
            }
        })
    }
}

fn malformed(reason: &str) -> CellError {
    CellError::Malformed {
        format: FORMAT,
        reason: reason.to_owned(),
    }
}
