//! What a connection negotiates: transport, versions, cipher suites, groups.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all;
use crate::authentication::CertificateKind;

/// How bytes travel between client and server. A plain arm is proved plain, a TLS arm is encrypted on every connection:
/// there is no "preferred", because a baseline that may be encrypted is no baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP without encryption.
    Plain,
    /// TLS of the highest version that both sides can. The proof of the arm finds out which, and every later session
    /// must be of that one.
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

/// What a client asks of TLS besides the version. Whatever is asked for is pinned: what is not available is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSettings {
    /// The only cipher suite offered, by its OpenSSL name (`ECDHE-RSA-AES128-GCM-SHA256`, `TLS_AES_128_GCM_SHA256`);
    /// `None` for the library's own list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cipher: Option<String>,
    /// The only group offered for the key exchange; `None` for the library's own list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Whether a session takes up an earlier one.
    pub resumption: Resumption,
    /// How the server's certificate is verified; `None` for by host name on a private server, and for what the target
    /// says on one of the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationMode>,
    /// The key of the client's own certificate (mutual TLS); `None` for none. For private servers alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<CertificateKind>,
    /// The client's TLS library.
    pub library: TlsLibrary,
    /// How a session with PostgreSQL comes to TLS.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub negotiation: TlsNegotiation,
}

impl TlsSettings {
    /// True when nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// A setting that has no common word among the options of clients, if there is one, by its name in study files.
    pub(crate) fn not_for_programs(&self) -> Option<&'static str> {
        match self {
            _ if self.group.is_some() => Some("group"),
            _ if self.resumption != Resumption::Off => Some("resumption"),
            _ if self.library != TlsLibrary::OpenSsl => Some("library"),
            _ if self.negotiation != TlsNegotiation::Request => Some("negotiation"),
            _ => None,
        }
    }
}

/// A group of the key exchange, by its name in the registry of IANA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Group {
    /// Curve25519 (RFC 7748).
    X25519,
    /// NIST P-256.
    #[serde(rename = "P-256")]
    #[strum(serialize = "P-256")]
    P256,
    /// NIST P-384.
    #[serde(rename = "P-384")]
    #[strum(serialize = "P-384")]
    P384,
    /// X25519 and ML-KEM-768 together: safe as long as one of them is, against quantum computers too.
    X25519MlKem768,
}

impl Group {
    /// Every group, in the order help texts list them.
    pub const ALL: [Self; 4] = all();

    /// The name used in study files; OpenSSL takes it too.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Whether a session takes up an earlier one instead of making a full handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Resumption {
    /// Every connection makes a full handshake.
    #[default]
    Off,
    /// By session id: the server keeps the session (RFC 5246). TLS 1.2 and older.
    SessionId,
    /// By ticket: the client keeps the session (RFC 5077, RFC 8446).
    Ticket,
}

impl Resumption {
    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How the server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationMode {
    /// Not at all: encrypted, but to whom is not known.
    None,
    /// Its chain must lead to the authority.
    Ca,
    /// Its chain must lead to the authority, and it must be for the server's name or address.
    HostName,
}

/// The client's TLS library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum TlsLibrary {
    /// OpenSSL, of the 3.5 series with long-term support.
    #[default]
    OpenSsl,
    /// rustls with aws-lc-rs. TLS 1.2 and 1.3 only.
    Rustls,
}

impl TlsLibrary {
    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How a session with PostgreSQL comes to TLS (libpq's `sslnegotiation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TlsNegotiation {
    /// The client asks for it (`SSLRequest`) and waits for the answer.
    #[default]
    Request,
    /// The client begins with the handshake, and saves a round trip; PostgreSQL 17 and later.
    Direct,
}

impl TlsNegotiation {
    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Begins the names of the suites of TLS 1.3, and of no other.
const TLS_1_3: &str = "TLS_";

/// The suites rustls has with aws-lc-rs, by OpenSSL's names.
const RUSTLS: [&str; 9] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
];

/// Why a client cannot offer `cipher` in `version`, or in any if that is `None`.
pub(crate) fn problem(cipher: &str, version: Option<TlsVersion>, library: TlsLibrary) -> Option<String> {
    if cipher.contains("_WITH_") || cipher.is_empty() || !cipher.chars().all(is_of_a_name) {
        return Some(format!(
            "{cipher:?} is no OpenSSL name of one cipher suite, such as TLS_AES_128_GCM_SHA256 or \
             ECDHE-RSA-AES128-GCM-SHA256"
        ));
    }
    if let Some(version) = version {
        let is_for = versions(cipher);
        if !is_for.contains(&version) {
            let is_for: Vec<&str> = is_for.iter().map(|version| version.name()).collect();
            return Some(format!(
                "{cipher} is a cipher suite of {}, not of {version}",
                is_for.join(", ")
            ));
        }
    }
    (library == TlsLibrary::Rustls && !RUSTLS.contains(&cipher))
        .then(|| format!("rustls does not have {cipher}; it has {}", RUSTLS.join(", ")))
}

/// True if its key exchange uses a group that a client chooses by name.
pub(crate) fn uses_group(cipher: &str) -> bool {
    cipher.starts_with(TLS_1_3) || cipher.starts_with("ECDHE-")
}

/// The versions a suite is for. Authenticated encryption and hashes of SHA-2 came with TLS 1.2 (RFC 5246, RFC 5288,
/// RFC 7905); the older suites go on in it.
fn versions(cipher: &str) -> &'static [TlsVersion] {
    const SINCE_TLS_1_2: [&str; 5] = ["GCM", "CCM", "CHACHA20", "SHA256", "SHA384"];
    let [.., old, new] = &TlsVersion::ALL;
    if cipher.starts_with(TLS_1_3) {
        std::slice::from_ref(new)
    } else if SINCE_TLS_1_2.iter().any(|part| cipher.contains(part)) {
        std::slice::from_ref(old)
    } else {
        &TlsVersion::ALL[..3]
    }
}

/// A list such as `A:B` or `ALL@SECLEVEL=0` is no name.
fn is_of_a_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '-' || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(cipher: &str) -> Vec<&'static str> {
        TlsVersion::ALL
            .into_iter()
            .filter(|version| problem(cipher, Some(*version), TlsLibrary::OpenSsl).is_none())
            .map(TlsVersion::name)
            .collect()
    }

    #[test]
    fn a_suite_fits_the_versions_it_was_made_for() {
        assert_eq!(fits("TLS_AES_128_GCM_SHA256"), ["TLSv1.3"]);
        assert_eq!(fits("ECDHE-RSA-AES128-GCM-SHA256"), ["TLSv1.2"]);
        assert_eq!(fits("ECDHE-RSA-AES128-SHA256"), ["TLSv1.2"]);
        assert_eq!(fits("DHE-RSA-AES256-SHA"), ["TLSv1", "TLSv1.1", "TLSv1.2"]);
        assert_eq!(problem("AES256-SHA", None, TlsLibrary::OpenSsl), None);
    }

    #[test]
    fn names_of_other_kinds_and_lists_are_refused() {
        for name in [
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "A:B",
            "ALL:@SECLEVEL=0",
            "",
        ] {
            assert!(problem(name, None, TlsLibrary::OpenSsl).is_some(), "{name}");
        }
    }

    #[test]
    fn rustls_has_few_suites() {
        assert_eq!(problem("TLS_AES_128_GCM_SHA256", None, TlsLibrary::Rustls), None);
        let message = problem("ECDHE-RSA-AES128-SHA", Some(TlsVersion::V1_2), TlsLibrary::Rustls);
        assert!(message.unwrap().contains("ECDHE-RSA-AES128-GCM-SHA256"));
    }
}
