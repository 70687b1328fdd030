//! Data keys and the nonces that they are known by.

use ciphertax_model::{ColumnEncryption, ColumnFeature};
use openssl::error::ErrorStack;
use openssl::md::{Md, MdRef};
use openssl::pkey::Id;
use openssl::pkey_ctx::PkeyCtx;
use zeroize::Zeroizing;

use super::layout::Nonce;
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
