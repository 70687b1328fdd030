//! The cells of Apache ShardingSphere's algorithm AES (`AESEncryptAlgorithm`, release 5.4.0): Base64 of AES-128-ECB with PKCS #7
//! padding, by the first 16 bytes of the SHA-1 of a password.
//!
//! There is neither vector nor code: equal values and equal blocks of 16 bytes have equal cells, and a change is noticed only
//! where it breaks the padding. It is here because it is what many run.

use ciphertax_model::{CellEncoding, ColumnEncryption};
use zeroize::Zeroizing;

use crate::aes::Aes;
use crate::cell::CellKind;
use crate::encoding::Encoded;
use crate::error::{CellError, KeyError, check_length};
use crate::hexadecimal::hexadecimal;
use crate::key::MasterKey;

/// What errors call the format.
const FORMAT: &str = "shardingsphere_aes";

/// Bytes of a plaintext at most: the largest value that MySQL's protocol carries.
const MOST: usize = 1 << 30;

/// VAR_STRING, of all that comes back.
const TEXT: CellKind = CellKind(253);

/// Encrypts and decrypts the cells of one session.
pub struct Cipher {
    aes: Aes,
    encoded: Encoded,
    key_number: String,
}

impl Cipher {
    /// A cipher whose password is the master key, as 32 hexadecimal digits in lower case.
    ///
    /// # Errors
    /// When the library lacks an algorithm.
    pub fn open(_encryption: &ColumnEncryption, key: &MasterKey) -> Result<Self, KeyError> {
        let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]);
        let password: Zeroizing<Vec<u8>> = Zeroizing::new(key.bytes().iter().flat_map(digits).collect());
        Self::with_password(&password)
    }

    /// A cipher whose password is this (`aes-key-value`).
    ///
    /// # Errors
    /// When the library lacks an algorithm.
    pub fn with_password(password: &[u8]) -> Result<Self, KeyError> {
        let key = Zeroizing::new(openssl::sha::sha1(password));
        // Of the part of the hash that is not the key.
        let number = openssl::sha::sha256(&key[16..]);
        Ok(Self {
            aes: Aes::new(openssl::cipher::Cipher::aes_128_ecb(), &key[..16])?,
            encoded: Encoded::new(CellEncoding::Base64),
            key_number: hexadecimal(&number[..8]),
        })
    }

    /// Appends the cell of a plaintext.
    ///
    /// # Errors
    /// When the library fails, or the plaintext is longer than 1 GiB; nothing is appended then.
    pub fn encrypt(
        &mut self,
        _kind: CellKind,
        plaintext: &[u8],
        cell: &mut Vec<u8>,
    ) -> Result<(), CellError> {
        check_length(plaintext, MOST)?;
        let Self { aes, encoded, .. } = self;
        encoded.write(cell, |cell| {
            let start = cell.len();
            cell.extend_from_slice(plaintext);
            aes.encrypt(None, cell, start)
        })
    }

    /// Appends the plaintext of a cell, which is taken for text.
    ///
    /// # Errors
    /// When it is no cell, or its padding tells that it was changed or is another key's, which one changed or wrong cell in some
    /// 256 does not; nothing is appended then.
    pub fn decrypt(&mut self, cell: &[u8], plaintext: &mut Vec<u8>) -> Result<CellKind, CellError> {
        let Self {
            aes,
            encoded,
            key_number,
        } = self;
        encoded.read(FORMAT, cell, plaintext, |cell, plaintext| {
            match aes.decrypt(None, cell, plaintext)? {
                true => Ok(TEXT),
                false => Err(CellError::NotAuthentic {
                    key_number: key_number.clone(),
                }),
            }
        })
    }
}
