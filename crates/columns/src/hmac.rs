//! HMAC (RFC 2104) with its key set once: half of the work on a short cell would be that otherwise.

use openssl::sha::{Sha256, Sha512};

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

/// A key, as the states of the two hashes after it.
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

#[cfg(test)]
mod tests {
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
        assert_eq!(
            Hmac::<Sha256>::new(&key).of(&parts).as_slice(),
            of_library(MessageDigest::sha256())
        );
        assert_eq!(
            Hmac::<Sha512>::new(&key).of(&parts).as_slice(),
            of_library(MessageDigest::sha512())
        );
    }
}
