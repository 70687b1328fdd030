//! AES-256-CBC with PKCS #7 padding, on bytes where they lie, and HMAC, with their keys set once; random bytes for vectors.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use openssl::sha::{Sha256, Sha512};

use crate::cell::{CellError, KeyError, Result};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 16;

/// The contexts of one key.
pub(crate) struct Aes {
    encrypting: CipherCtx,
    decrypting: CipherCtx,
}

impl Aes {
    /// By this key.
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
    pub(crate) fn encrypt(&mut self, vector: &[u8; BLOCK], bytes: &mut Vec<u8>, start: usize) -> Result<()> {
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
    ) -> Result<bool> {
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

/// A hash function whose state can be copied.
pub(crate) trait Hash: Clone {
    /// What it computes.
    type Digest: AsRef<[u8]>;
    /// Bytes that it takes at a time, at most [`LONGEST_BLOCK`].
    const BLOCK: usize;

    fn begin() -> Self;
    fn add(&mut self, bytes: &[u8]);
    fn end(self) -> Self::Digest;
}

/// The block of SHA-512.
const LONGEST_BLOCK: usize = 128;

impl Hash for Sha256 {
    type Digest = [u8; 32];
    const BLOCK: usize = 64;

    fn begin() -> Self {
        Self::new()
    }

    fn add(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn end(self) -> [u8; 32] {
        self.finish()
    }
}

impl Hash for Sha512 {
    type Digest = [u8; 64];
    const BLOCK: usize = LONGEST_BLOCK;

    fn begin() -> Self {
        Self::new()
    }

    fn add(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn end(self) -> [u8; 64] {
        self.finish()
    }
}

/// HMAC (RFC 2104) with its key set once, as the states of the two hashes after it: half of the work on a short cell
/// would be that otherwise.
pub(crate) struct Hmac<H> {
    inner: H,
    outer: H,
}

impl<H: Hash> Hmac<H> {
    /// By a key of 32 bytes, as all formats here have.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let keyed = |pad: u8| {
            let mut block = [pad; LONGEST_BLOCK];
            for (byte, of_key) in block.iter_mut().zip(key) {
                *byte ^= of_key;
            }
            let mut hash = H::begin();
            hash.add(&block[..H::BLOCK]);
            hash
        };
        Self {
            inner: keyed(0x36),
            outer: keyed(0x5c),
        }
    }

    /// The code of these parts, one after the other.
    pub(crate) fn of(&self, parts: &[&[u8]]) -> H::Digest {
        let mut inner = self.inner.clone();
        for part in parts {
            inner.add(part);
        }
        let mut outer = self.outer.clone();
        outer.add(inner.end().as_ref());
        outer.end()
    }
}

/// Bytes that are drawn at a time. A draw of twelve costs several times as much as AES on a short cell, and hardly less than
/// one of this length.
const DRAWN: usize = 4096;

/// Random bytes, of which many are drawn at a time. Each is given once.
#[derive(Default)]
pub(crate) struct RandomPool {
    /// Empty until the first is asked for: a session that only decrypts needs none.
    bytes: Vec<u8>,
    given: usize,
}

impl RandomPool {
    /// The next `N` bytes; `N` is at most 4096.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        const { assert!(N <= DRAWN) };
        if let Some(bytes) = self.next() {
            return Ok(bytes);
        }
        self.bytes.resize(DRAWN, 0);
        // None is given again if this fails.
        self.given = DRAWN;
        openssl::rand::rand_bytes(&mut self.bytes).map_err(|error| CellError::Library(error.to_string()))?;
        self.given = 0;
        self.next()
            .ok_or_else(|| CellError::Library("no random bytes".to_owned()))
    }

    /// A pool that gives these bytes first.
    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            given: 0,
        }
    }

    fn next<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.bytes.get(self.given..)?.first_chunk()?;
        self.given += N;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use openssl::hash::MessageDigest;
    use openssl::pkey::PKey;
    use openssl::sign::Signer;

    use super::*;

    #[test]
    fn codes_are_those_of_the_library() {
        let key = [7; 32];
        let text = [42; 300];
        let of_library = |digest| {
            let key = PKey::hmac(&key).unwrap();
            let mut signer = Signer::new(digest, &key).unwrap();
            signer.update(&text).unwrap();
            signer.sign_to_vec().unwrap()
        };
        let parts: [&[u8]; 3] = [&text[..1], &[], &text[1..]];
        let ours = Hmac::<Sha256>::new(&key).of(&parts);
        assert_eq!(ours.as_slice(), of_library(MessageDigest::sha256()));
        let ours = Hmac::<Sha512>::new(&key).of(&parts);
        assert_eq!(ours.as_slice(), of_library(MessageDigest::sha512()));
    }

    #[test]
    fn no_bytes_are_given_twice() {
        let mut pool = RandomPool::default();
        let vectors: HashSet<[u8; 12]> = (0..5000).map(|_| pool.take().unwrap()).collect();
        assert_eq!(vectors.len(), 5000);
        assert!(!vectors.contains(&[0; 12]));
    }

    #[test]
    fn vectors_of_several_lengths_share_a_pool() {
        let mut pool = RandomPool::default();
        let first: [u8; 16] = pool.take().unwrap();
        let second: [u8; 12] = pool.take().unwrap();
        assert_eq!(pool.given, 28);
        let found = (&pool.bytes[..16], &pool.bytes[16..28]);
        assert_eq!(found, (&first[..], &second[..]));
    }
}
