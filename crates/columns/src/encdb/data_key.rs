//! Data keys, the nonces that they are known by, and the library's contexts of them. They are kept: to set a key
//! again costs as much as a short cell.

use ciphertax_model::{ColumnEncryption, ColumnFeature};
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use openssl::md::{Md, MdRef};
use openssl::pkey::Id;
use openssl::pkey_ctx::PkeyCtx;
use zeroize::Zeroizing;

use super::algorithm::{Algorithm, Layout, Mode, Nonce};
use super::{library, not_authentic};
use crate::cell::CellError;
use crate::key::MasterKey;

/// The hash of HKDF, by which data keys are derived. Cells do not say which: it comes with the cipher suite that server and client
/// agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Derivation {
    /// SM3, as PolarDB-X has it, whatever its cells are encrypted with.
    #[default]
    Sm3,
    /// SHA-256, of suites with RSA.
    Sha256,
}

impl Derivation {
    /// The data key of a nonce: `HKDF(master key, salt = nonce, info empty)`.
    pub(super) fn data_key(self, key: &MasterKey, nonce: &Nonce) -> Result<Zeroizing<[u8; 16]>, ErrorStack> {
        let mut data_key = Zeroizing::new([0; 16]);
        self.derive(key, nonce, b"", data_key.as_mut_slice())?;
        Ok(data_key)
    }

    /// The nonce of a new session. Cells of results are their session's: it is random. Cells that are stored are read by other
    /// sessions than the one that made them, and compared with theirs: all have the master key's own.
    pub(super) fn nonce(self, encryption: &ColumnEncryption, key: &MasterKey) -> Result<Nonce, ErrorStack> {
        let mut nonce = Nonce::default();
        match encryption.feature {
            ColumnFeature::InResults => openssl::rand::rand_bytes(&mut nonce)?,
            ColumnFeature::Stored => self.derive(key, b"", b"nonce of stored cells", &mut nonce)?,
        }
        Ok(nonce)
    }

    fn derive(self, key: &MasterKey, salt: &[u8], info: &[u8], derived: &mut [u8]) -> Result<(), ErrorStack> {
        let mut context = PkeyCtx::new_id(Id::HKDF)?;
        context.derive_init()?;
        context.set_hkdf_md(self.hash())?;
        context.set_hkdf_key(key.bytes())?;
        context.set_hkdf_salt(salt)?;
        context.add_hkdf_info(info)?;
        context.derive(Some(derived))?;
        Ok(())
    }

    fn hash(self) -> &'static MdRef {
        match self {
            Self::Sm3 => Md::sm3(),
            Self::Sha256 => Md::sha256(),
        }
    }
}

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

/// Contexts that are kept at most. A session reads cells of one nonce; more come where it lives on while the sessions beyond it,
/// as of a pooler, change.
const KEPT: usize = 8;

/// The contexts that cells were decrypted with last.
pub(super) struct Decryptors {
    key: MasterKey,
    derivation: Derivation,
    /// The last used first.
    kept: Vec<Kept>,
}

struct Kept {
    nonce: Nonce,
    algorithm: Algorithm,
    decryptor: Decryptor,
}

impl Decryptors {
    pub(super) fn new(key: MasterKey, derivation: Derivation) -> Self {
        Self {
            key,
            derivation,
            kept: Vec::new(),
        }
    }

    /// Appends what is encrypted in a cell, or something else before an error.
    ///
    /// # Errors
    /// When its tag or its padding is wrong, or the library fails.
    pub(super) fn decrypt(&mut self, layout: &Layout<'_>, plaintext: &mut Vec<u8>) -> Result<(), CellError> {
        let decryptor = self.of(&layout.nonce, layout.algorithm).map_err(library)?;
        decryptor
            .decrypt(layout.vector, layout.tag, layout.ciphertext, plaintext)
            .map_err(|_| not_authentic(&layout.nonce))
    }

    fn of(&mut self, nonce: &Nonce, algorithm: Algorithm) -> Result<&mut Decryptor, ErrorStack> {
        let wanted = |kept: &Kept| kept.nonce == *nonce && kept.algorithm == algorithm;
        match self.kept.iter().position(wanted) {
            Some(index) => self.kept[..=index].rotate_right(1),
            None => {
                let data_key = self.derivation.data_key(&self.key, nonce)?;
                let decryptor = Decryptor::new(algorithm, &data_key)?;
                self.kept.truncate(KEPT - 1);
                self.kept.insert(
                    0,
                    Kept {
                        nonce: *nonce,
                        algorithm,
                        decryptor,
                    },
                );
            }
        }
        Ok(&mut self.kept[0].decryptor)
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }
}
