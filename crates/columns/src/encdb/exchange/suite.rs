//! Cipher suites: what a server opens envelopes with, and the hash by which data keys are derived.

use std::fmt;
use std::str::FromStr;

use super::answer::shown;
use super::error::ExchangeError;
use crate::encdb::algorithm::{Algorithm, BlockCipher, Mode};
use crate::encdb::data_key::Derivation;

/// What a server opens envelopes with, and derives data keys by. What its cells are encrypted with is asked for apart from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// RSA-OAEP, AES-128-CBC, SHA-256.
    RsaAesCbc,
    /// RSA-OAEP, AES-128-GCM, SHA-256.
    RsaAesGcm,
    /// SM2, SM4-CBC, SM3: PolarDB-X's.
    Sm2Sm4Cbc,
    /// SM2, SM4-GCM, SM3.
    Sm2Sm4Gcm,
}

impl Suite {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::RsaAesCbc, Self::RsaAesGcm, Self::Sm2Sm4Cbc, Self::Sm2Sm4Gcm];

    /// The name by which servers and clients know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RsaAesCbc => "RSA_WITH_AES_128_CBC_SHA256",
            Self::RsaAesGcm => "RSA_WITH_AES_128_GCM_SHA256",
            Self::Sm2Sm4Cbc => "SM2_WITH_SM4_128_CBC_SM3",
            Self::Sm2Sm4Gcm => "SM2_WITH_SM4_128_GCM_SM3",
        }
    }

    /// How a server with this suite derives data keys.
    pub fn derivation(self) -> Derivation {
        match self.is_rsa() {
            true => Derivation::Sha256,
            false => Derivation::Sm3,
        }
    }

    /// True if the server's key is one of RSA, and not of SM2.
    pub(super) fn is_rsa(self) -> bool {
        matches!(self, Self::RsaAesCbc | Self::RsaAesGcm)
    }

    /// What encrypts the master key in an envelope.
    pub(super) fn algorithm(self) -> Algorithm {
        let (cipher, mode) = match self {
            Self::RsaAesCbc => (BlockCipher::Aes128, Mode::Cbc),
            Self::RsaAesGcm => (BlockCipher::Aes128, Mode::Gcm),
            Self::Sm2Sm4Cbc => (BlockCipher::Sm4, Mode::Cbc),
            Self::Sm2Sm4Gcm => (BlockCipher::Sm4, Mode::Gcm),
        };
        Algorithm { cipher, mode }
    }

    /// Their names, for an error.
    pub(super) fn known() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Suite {
    type Err = ExchangeError;

    fn from_str(name: &str) -> Result<Self, ExchangeError> {
        let found = Self::ALL.into_iter().find(|suite| suite.name() == name);
        found.ok_or_else(|| ExchangeError::Suite(shown(name)))
    }
}
