//! What a client asks of TLS besides the version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::certificate::CertificateKind;
use crate::variants::all;

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
    #[serde(skip_serializing_if = "TlsNegotiation::is_default")]
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
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
pub enum Group {
    /// Curve25519 (RFC 7748).
    #[serde(rename = "X25519")]
    #[strum(serialize = "X25519")]
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
    #[serde(rename = "X25519MLKEM768")]
    #[strum(serialize = "X25519MLKEM768")]
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
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
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
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr,
)]
pub enum TlsLibrary {
    /// OpenSSL, of the 3.5 series with long-term support.
    #[default]
    #[serde(rename = "openssl")]
    #[strum(serialize = "openssl")]
    OpenSsl,
    /// rustls with aws-lc-rs. TLS 1.2 and 1.3 only.
    #[serde(rename = "rustls")]
    #[strum(serialize = "rustls")]
    Rustls,
}

impl TlsLibrary {
    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How a session with PostgreSQL comes to TLS (libpq's `sslnegotiation`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
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

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
