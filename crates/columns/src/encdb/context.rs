//! The library's context of one key, algorithm and direction, which is kept: to set a key again costs as much as a short cell.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;

use super::algorithm::{Algorithm, Mode};

/// Bytes of a block of AES and SM4.
pub(super) const BLOCK: usize = 16;

/// Encrypts cells under one key; only the vector is set for each.
pub(super) struct Encryptor {
    context: CipherCtx,
    mode: Mode,
}

/// Decrypts cells under one key; only the vector is set for each.
pub(super) struct Decryptor {
    context: CipherCtx,
    mode: Mode,
}

impl Encryptor {
    pub(super) fn new(algorithm: Algorithm, key: &[u8; 16]) -> Result<Self, ErrorStack> {
        let mut context = CipherCtx::new()?;
        let cipher = Cipher::fetch(None, algorithm.name(), None)?;
        context.encrypt_init(Some(&cipher), Some(key), None)?;
        let mode = algorithm.mode;
        Ok(Self { context, mode })
    }

    /// Encrypts the end of `cell` from `start` on, where it lies, with a vector of the mode's length; where the mode has a tag, writes
    /// it to the bytes before.
    pub(super) fn encrypt(
        &mut self,
        vector: &[u8],
        cell: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), ErrorStack> {
        self.context.encrypt_init(None, None, Some(vector))?;
        let length = cell.len() - start;
        if self.mode == Mode::Gcm {
            self.context.cipher_update_inplace(&mut cell[start..], length)?;
            self.context.cipher_final(&mut [])?;
            return self.context.tag(&mut cell[start - self.mode.tag_bytes()..start]);
        }
        cell.resize(cell.len() + BLOCK, 0);
        let made = self.context.cipher_update_inplace(&mut cell[start..], length)?;
        let mut last = [0; BLOCK];
        let last_bytes = self.context.cipher_final(&mut last)?;
        cell.truncate(start + made);
        cell.extend_from_slice(&last[..last_bytes]);
        Ok(())
    }
}

impl Decryptor {
    pub(super) fn new(algorithm: Algorithm, key: &[u8; 16]) -> Result<Self, ErrorStack> {
        let mut context = CipherCtx::new()?;
        let cipher = Cipher::fetch(None, algorithm.name(), None)?;
        context.decrypt_init(Some(&cipher), Some(key), None)?;
        let mode = algorithm.mode;
        Ok(Self { context, mode })
    }

    /// Appends the plaintext. What was appended before an error is no plaintext: the caller takes it away.
    pub(super) fn decrypt(
        &mut self,
        vector: &[u8],
        tag: &[u8],
        ciphertext: &[u8],
        plaintext: &mut Vec<u8>,
    ) -> Result<(), ErrorStack> {
        self.context.decrypt_init(None, None, Some(vector))?;
        if self.mode == Mode::Gcm {
            self.context.set_tag(tag)?;
        }
        self.context.cipher_update_vec(ciphertext, plaintext)?;
        self.context.cipher_final_vec(plaintext)?;
        Ok(())
    }
}
