//! The keys of the two ends.

use openssl::pkey::{PKey, Private};

use crate::error::Result;

/// An end's secret.
pub(super) struct Key(PKey<Private>);

impl Key {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(PKey::generate_x25519()?))
    }

    pub(super) fn public(&self) -> Result<PublicKey> {
        Ok(PublicKey(openssl::base64::encode_block(
            &self.0.raw_public_key()?,
        )))
    }

    pub(super) fn base64(&self) -> Result<String> {
        Ok(openssl::base64::encode_block(&self.0.raw_private_key()?))
    }
}

/// In Base64, as `wg` has it.
#[derive(Debug)]
pub(super) struct PublicKey(pub(super) String);
