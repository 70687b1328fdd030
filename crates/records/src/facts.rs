//! What a session really negotiated, and how an arm was proved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one session really negotiated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFacts {
    /// The server's own version string.
    pub server_version: String,
    /// How the login went.
    pub authentication: AuthenticationFacts,
    /// The TLS session; absent on a plain connection.
    pub tls: Option<TlsFacts>,
}

/// How a login went.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AuthenticationFacts {
    /// The authentication plugin, by the server's name for it.
    pub method: String,
    /// The path the plugin took: `single` where it has only one, else `fast` or `full`.
    pub path: String,
}

/// What a TLS session negotiated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsFacts {
    /// Protocol version, for example `TLSv1.3`.
    pub version: String,
    /// Cipher suite, by its OpenSSL name.
    pub cipher: String,
    /// Key-exchange group; empty where the library cannot tell.
    pub group: String,
    /// The server's certificate.
    pub certificate: CertificateFacts,
    /// True if the session was resumed and no certificate was sent.
    pub resumed: bool,
    /// True if the server asked for a second ClientHello.
    pub hello_retry_request: bool,
    /// Size of the first ClientHello handshake message in bytes.
    pub client_hello_bytes: u32,
    /// What was verified: `ca` (chain only) or `host name` (chain and name).
    pub verification: String,
    /// The client's TLS library and its version.
    pub client_library: String,
}

/// The certificate a server presented.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateFacts {
    /// Key type and size, for example `EC P-256` or `RSA 2048`.
    pub key: String,
    /// Signature algorithm of the leaf, for example `ecdsa-with-SHA256`.
    pub signature: String,
    /// DER bytes of all certificates the server sent.
    pub chain_bytes: u32,
    /// Certificates the server sent.
    pub chain_length: u32,
}

/// One piece of evidence that an arm is what it says. A failed proof ends the arm, so a recorded one has passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Who says so: `server`, `client`, `wire` or `authentication`.
    pub witness: String,
    /// What was checked.
    pub claim: String,
    /// What was seen.
    pub evidence: String,
}
