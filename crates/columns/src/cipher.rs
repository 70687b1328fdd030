//! Cells of one session, whichever their format.

use ciphertax_model::{CellFormat, ColumnEncryption};

use crate::cell::{CellKind, KeyError, Result};
use crate::key::MasterKey;
use crate::{aead, csfle, encdb};

/// Encrypts and decrypts the cells of one session, with contexts that are kept and vectors drawn many at a time.
pub struct CellCipher {
    cipher: Cipher,
    counts: CellCounts,
}

/// The cipher of a format. All have the same three functions.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a session, and a pointer would cost each cell a look"
)]
enum Cipher {
    Encdb(encdb::Cipher),
    /// The largest by far.
    Csfle(Box<csfle::Cipher>),
    Aead(aead::Cipher),
}

impl CellCipher {
    /// A cipher of this format and algorithm. Its data key is derived from `key`: for cells of results it is the session's own, for
    /// cells that are stored the same for all sessions, which read and compare each other's.
    ///
    /// # Errors
    /// When the library lacks the algorithm.
    pub fn open(encryption: &ColumnEncryption, key: &MasterKey) -> Result<Self, KeyError> {
        Self::with_derivation(encryption, key, encdb::Derivation::default())
    }

    /// The same, with data keys of `encdb` derived as a server's cipher suite says; other formats have one way.
    ///
    /// # Errors
    /// As [`CellCipher::open`].
    pub fn with_derivation(
        encryption: &ColumnEncryption,
        key: &MasterKey,
        derivation: encdb::Derivation,
    ) -> Result<Self, KeyError> {
        let cipher = match encryption.format {
            CellFormat::Encdb => Cipher::Encdb(encdb::Cipher::with_derivation(encryption, key, derivation)?),
            CellFormat::Csfle => Cipher::Csfle(Box::new(csfle::Cipher::open(encryption, key)?)),
            CellFormat::AeadCbcHmac => Cipher::Aead(aead::Cipher::open(encryption, key)?),
        };
        Ok(Self {
            cipher,
            counts: CellCounts::default(),
        })
    }

    /// Appends the cell of a plaintext, as it travels: text where the encoding is Base64.
    ///
    /// # Errors
    /// When the library fails, or the plaintext is too long for a cell.
    pub fn encrypt(&mut self, kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<()> {
        match &mut self.cipher {
            Cipher::Encdb(cipher) => cipher.encrypt(kind, plaintext, cell),
            Cipher::Csfle(cipher) => cipher.encrypt(kind, plaintext, cell),
            Cipher::Aead(cipher) => cipher.encrypt(kind, plaintext, cell),
        }?;
        self.counts.encrypted += 1;
        Ok(())
    }

    /// Appends the plaintext of a cell.
    ///
    /// # Errors
    /// When it is no cell, was changed or cut off, or is another key's; nothing is appended then, and nothing of the plaintext is in
    /// the error.
    pub fn decrypt(&mut self, cell: &[u8], plaintext: &mut Vec<u8>) -> Result<CellKind> {
        let kind = match &mut self.cipher {
            Cipher::Encdb(cipher) => cipher.decrypt(cell, plaintext),
            Cipher::Csfle(cipher) => cipher.decrypt(cell, plaintext),
            Cipher::Aead(cipher) => cipher.decrypt(cell, plaintext),
        }?;
        self.counts.decrypted += 1;
        Ok(kind)
    }

    /// What it did so far.
    pub fn counts(&self) -> CellCounts {
        self.counts
    }
}

/// How many cells were encrypted and decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellCounts {
    /// Cells made of plaintexts.
    pub encrypted: u64,
    /// Cells made plaintexts.
    pub decrypted: u64,
}
