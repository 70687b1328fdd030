//! One way to run: the security settings that make an arm.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One way to run; the first arm of a study is the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// The name used in records and reports, unique in its study.
    pub name: String,
    /// How bytes travel between client and server.
    pub transport: Transport,
}

/// How bytes travel between client and server. A plain arm is proved plain, a TLS arm is pinned to one version:
/// there is no "preferred", because a baseline that may be encrypted is no baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Transport {
    /// TCP without encryption.
    #[serde(rename = "plain")]
    Plain,
    /// TLS 1.2 and nothing else.
    #[serde(rename = "tls1.2")]
    Tls12,
    /// TLS 1.3 and nothing else.
    #[serde(rename = "tls1.3")]
    Tls13,
}

impl Transport {
    /// The TLS version this transport is pinned to; `None` for plain TCP.
    pub fn tls_version(self) -> Option<TlsVersion> {
        match self {
            Self::Plain => None,
            Self::Tls12 => Some(TlsVersion::V1_2),
            Self::Tls13 => Some(TlsVersion::V1_3),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tls_version() {
            None => f.write_str("plain TCP"),
            Some(version) => version.fmt(f),
        }
    }
}

/// A TLS protocol version, written as servers write it (`TLSv1.3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    /// RFC 5246.
    #[serde(rename = "TLSv1.2")]
    V1_2,
    /// RFC 8446.
    #[serde(rename = "TLSv1.3")]
    V1_3,
}

impl TlsVersion {
    /// The name that OpenSSL and the servers built on it report for a session.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1_2 => "TLSv1.2",
            Self::V1_3 => "TLSv1.3",
        }
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The key a private server's certificate is made with. An external server brings its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum CertificateKind {
    /// ECDSA over NIST P-256.
    #[default]
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// RSA with a 2048-bit modulus.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    /// RSA with a 4096-bit modulus.
    #[serde(rename = "rsa-4096")]
    Rsa4096,
}

impl CertificateKind {
    /// Every kind, in the order help texts list them.
    pub const ALL: [Self; 3] = [Self::EcdsaP256, Self::Rsa2048, Self::Rsa4096];

    /// The name used in study files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa4096 => "rsa-4096",
        }
    }
}

impl fmt::Display for CertificateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
