//! Random bytes for vectors.

use crate::cell::CellError;

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
    ///
    /// # Errors
    /// When the system has no randomness.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], CellError> {
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

    use super::*;

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
        let taken = (&pool.bytes[..16], &pool.bytes[16..28]);
        assert_eq!(taken, (&first[..], &second[..]));
    }
}
