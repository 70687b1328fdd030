//! The layout of a cell, the algorithms that its header numbers, and data keys with the library's contexts of them.

use ciphertax_model::{CellAlgorithm, ColumnEncryption, ColumnFeature};
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use openssl::hash::{Hasher, MessageDigest};
use openssl::md::{Md, MdRef};
use openssl::pkey::Id;
use openssl::pkey_ctx::PkeyCtx;
use zeroize::Zeroizing;

use super::{FORMAT, library, not_authentic};
use crate::cell::{CellError, CellKind, Result};
use crate::key::MasterKey;

/// The cipher and the mode of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Algorithm {
    pub(super) cipher: BlockCipher,
    pub(super) mode: Mode,
}

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
    pub(super) fn vector_bytes(self) -> usize {
        match self {
            Self::Gcm => 12,
            Self::Ecb => 0,
            Self::Ctr | Self::Cbc => 16,
        }
    }

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
    pub(super) fn of(cell: &'a [u8]) -> Result<Self> {
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
///
/// They are kept: to set a key again costs as much as a short cell.
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
    pub(super) fn decrypt(&mut self, layout: &Layout<'_>, plaintext: &mut Vec<u8>) -> Result<()> {
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
