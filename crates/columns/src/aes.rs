//! AES-256-CBC with its key set once and PKCS #7 padding, on bytes where they lie.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;

use crate::error::{CellError, KeyError};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 16;

/// The contexts of one key.
pub(crate) struct Aes {
    encrypting: CipherCtx,
    decrypting: CipherCtx,
}

impl Aes {
    /// By this key.
    ///
    /// # Errors
    /// When the library lacks the cipher.
    pub(crate) fn new(key: &[u8; 32]) -> Result<Self, KeyError> {
        let open = || {
            let cipher = Cipher::aes_256_cbc();
            let mut encrypting = CipherCtx::new()?;
            encrypting.encrypt_init(Some(cipher), Some(key), None)?;
            let mut decrypting = CipherCtx::new()?;
            decrypting.decrypt_init(Some(cipher), Some(key), None)?;
            // Padding is done here: it saves a call for each cell.
            encrypting.set_padding(false);
            decrypting.set_padding(false);
            Ok(Self {
                encrypting,
                decrypting,
            })
        };
        open().map_err(|error: ErrorStack| KeyError::Unavailable(error.to_string()))
    }

    /// Pads the end of `bytes` from `start` on and encrypts it.
    pub(crate) fn encrypt(
        &mut self,
        vector: &[u8; BLOCK],
        bytes: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), CellError> {
        let padding = BLOCK - (bytes.len() - start) % BLOCK;
        let end = bytes.len() + padding;
        // From 1 to 16.
        bytes.resize(end, padding as u8);
        // The library wants room for a block more.
        bytes.resize(end + BLOCK, 0);
        self.encrypting
            .encrypt_init(None, None, Some(vector))
            .map_err(library)?;
        let made = self
            .encrypting
            .cipher_update_inplace(&mut bytes[start..], end - start)
            .map_err(library)?;
        bytes.truncate(start + made);
        Ok(())
    }

    /// Appends what was encrypted, which is whole blocks; false if its padding is wrong. Then, and after an error, what was
    /// appended is nothing.
    pub(crate) fn decrypt(
        &mut self,
        vector: &[u8; BLOCK],
        ciphertext: &[u8],
        bytes: &mut Vec<u8>,
    ) -> Result<bool, CellError> {
        let start = bytes.len();
        bytes.resize(start + ciphertext.len() + BLOCK, 0);
        self.decrypting
            .decrypt_init(None, None, Some(vector))
            .map_err(library)?;
        let made = self
            .decrypting
            .cipher_update(ciphertext, Some(&mut bytes[start..]))
            .map_err(library)?;
        bytes.truncate(start + made);
        let padding = bytes.last().copied().unwrap_or_default();
        let length = usize::from(padding);
        let is_padded = (1..=BLOCK).contains(&length)
            && length <= made
            && bytes[bytes.len() - length..].iter().all(|byte| *byte == padding);
        if is_padded {
            bytes.truncate(bytes.len() - length);
        }
        Ok(is_padded)
    }
}

fn library(error: ErrorStack) -> CellError {
    CellError::Library(error.to_string())
}
