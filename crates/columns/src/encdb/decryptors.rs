//! Contexts by nonce and algorithm, for decryption.

use openssl::error::ErrorStack;

use super::algorithm::Algorithm;
use super::context::Decryptor;
use super::data_key::Derivation;
use super::layout::{Layout, Nonce};
use super::{library, not_authentic};
use crate::cell::CellError;
use crate::key::MasterKey;

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
