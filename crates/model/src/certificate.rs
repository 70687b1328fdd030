//! The certificate of a private server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::variants::all;

/// The key a private server's certificate is made with. An external server brings its own.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
pub enum CertificateKind {
    /// ECDSA over NIST P-256.
    #[default]
    #[serde(rename = "ecdsa-p256")]
    #[strum(serialize = "ecdsa-p256")]
    EcdsaP256,
    /// ECDSA over NIST P-384.
    #[serde(rename = "ecdsa-p384")]
    #[strum(serialize = "ecdsa-p384")]
    EcdsaP384,
    /// Ed25519 (RFC 8032).
    #[serde(rename = "ed25519")]
    #[strum(serialize = "ed25519")]
    Ed25519,
    /// RSA with a 1024-bit modulus: long broken, still in old studies.
    #[serde(rename = "rsa-1024")]
    #[strum(serialize = "rsa-1024")]
    Rsa1024,
    /// RSA with a 2048-bit modulus.
    #[serde(rename = "rsa-2048")]
    #[strum(serialize = "rsa-2048")]
    Rsa2048,
    /// RSA with a 3072-bit modulus.
    #[serde(rename = "rsa-3072")]
    #[strum(serialize = "rsa-3072")]
    Rsa3072,
    /// RSA with a 4096-bit modulus.
    #[serde(rename = "rsa-4096")]
    #[strum(serialize = "rsa-4096")]
    Rsa4096,
}

impl CertificateKind {
    /// Every kind, in the order help texts list them.
    pub const ALL: [Self; 7] = all();

    /// The name used in study files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True for RSA keys, the only ones that every TLS library knows.
    pub fn is_rsa(self) -> bool {
        matches!(
            self,
            Self::Rsa1024 | Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096
        )
    }
}

/// The certificate of a private server: its key, and how many certificates lead to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// Its key, and that of every authority above it.
    pub kind: CertificateKind,
    /// Certificates that the server sends: 1 for its own, signed by the authority that clients trust; more for
    /// intermediate authorities between the two.
    pub chain_length: u8,
}

impl Default for Certificate {
    fn default() -> Self {
        Self {
            kind: CertificateKind::default(),
            chain_length: 1,
        }
    }
}
