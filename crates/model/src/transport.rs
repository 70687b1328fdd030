//! How bytes travel between client and server.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::variants::all;

/// How bytes travel between client and server. A plain arm is proved plain, a TLS arm is encrypted on every connection:
/// there is no "preferred", because a baseline that may be encrypted is no baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Transport {
    /// TCP without encryption.
    #[serde(rename = "plain")]
    Plain,
    /// TLS of the highest version that both sides can. The proof of the arm finds out which, and every later session
    /// must be of that one.
    #[serde(rename = "tls")]
    Tls,
    /// TLS 1.0 and nothing else.
    #[serde(rename = "tls1.0")]
    Tls10,
    /// TLS 1.1 and nothing else.
    #[serde(rename = "tls1.1")]
    Tls11,
    /// TLS 1.2 and nothing else.
    #[serde(rename = "tls1.2")]
    Tls12,
    /// TLS 1.3 and nothing else.
    #[serde(rename = "tls1.3")]
    Tls13,
}

impl Transport {
    /// True for all but plain TCP.
    pub fn is_encrypted(self) -> bool {
        self != Self::Plain
    }

    /// The TLS version this transport is pinned to; `None` for plain TCP and for the highest version there is.
    pub fn tls_version(self) -> Option<TlsVersion> {
        match self {
            Self::Plain | Self::Tls => None,
            Self::Tls10 => Some(TlsVersion::V1_0),
            Self::Tls11 => Some(TlsVersion::V1_1),
            Self::Tls12 => Some(TlsVersion::V1_2),
            Self::Tls13 => Some(TlsVersion::V1_3),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.tls_version()) {
            (_, Some(version)) => version.fmt(f),
            (Self::Plain, None) => f.write_str("plain TCP"),
            (_, None) => f.write_str("TLS"),
        }
    }
}

/// A TLS protocol version, written as servers write it (`TLSv1.3`).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
pub enum TlsVersion {
    /// RFC 2246.
    #[serde(rename = "TLSv1")]
    #[strum(serialize = "TLSv1")]
    V1_0,
    /// RFC 4346.
    #[serde(rename = "TLSv1.1")]
    #[strum(serialize = "TLSv1.1")]
    V1_1,
    /// RFC 5246.
    #[serde(rename = "TLSv1.2")]
    #[strum(serialize = "TLSv1.2")]
    V1_2,
    /// RFC 8446.
    #[serde(rename = "TLSv1.3")]
    #[strum(serialize = "TLSv1.3")]
    V1_3,
}

impl TlsVersion {
    /// Every version, the oldest first.
    pub const ALL: [Self; 4] = all();

    /// The name that OpenSSL and the servers built on it report for a session.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
