//! Who proves to be whom: logins, certificates, and secrets that no text shows.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all;

/// How the account of an arm logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Authentication {
    /// The account's method or plugin; `None` for the server's default account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<AuthenticationMethod>,
    /// Whether an earlier login has left what makes the next one cheaper.
    pub password_cache: PasswordCache,
    /// Whether the client sends the first step of the login along with its greeting, and so saves a round trip; for
    /// MongoDB's methods alone.
    #[serde(skip_serializing_if = "is_yes")]
    pub speculative: bool,
    /// Rounds of the hash by which SCRAM's keys are derived from the password of the account; `None` for the server's
    /// default. For PostgreSQL's accounts alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scram_iterations: Option<u32>,
}

impl Default for Authentication {
    fn default() -> Self {
        Self {
            method: None,
            password_cache: PasswordCache::default(),
            speculative: true,
            scram_iterations: None,
        }
    }
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl Authentication {
    /// What `scram_iterations` may be: from the least that the client does to what takes it about half a second.
    pub const SCRAM_ITERATIONS: RangeInclusive<u32> = 1_000..=1_000_000;
}

/// An authentication method, by the server's own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AuthenticationMethod {
    /// SHA-1 of a challenge: the default of MySQL until 5.7 and of MariaDB.
    MysqlNativePassword,
    /// SHA-256 with a cache on the server: the default of MySQL since 8.0.
    CachingSha2Password,
    /// SHA-256 without a cache.
    Sha256Password,
    /// MariaDB's Ed25519 signature of a challenge.
    Ed25519,
    /// MariaDB's PARSEC: Ed25519 too, by a key that PBKDF2 derives from the password.
    Parsec,
    /// The user of the operating system, over a Unix socket.
    UnixSocket,
    /// MongoDB's SCRAM with SHA-1 (RFC 5802), over the MD5 of user and password.
    #[serde(rename = "SCRAM-SHA-1")]
    #[strum(serialize = "SCRAM-SHA-1")]
    ScramSha1,
    /// SCRAM with SHA-256 (RFC 7677): the default of MongoDB since 4.0 and of PostgreSQL since 14.
    #[serde(rename = "SCRAM-SHA-256")]
    #[strum(serialize = "SCRAM-SHA-256")]
    ScramSha256,
    /// The client's certificate, on MongoDB.
    #[serde(rename = "MONGODB-X509")]
    #[strum(serialize = "MONGODB-X509")]
    MongodbX509,
    /// No login at all, on a MongoDB server without access control.
    #[serde(rename = "none")]
    #[strum(serialize = "none")]
    NoLogin,
    /// Whoever connects to PostgreSQL is who they say.
    Trust,
    /// The password as it is, to PostgreSQL.
    Password,
    /// PostgreSQL's MD5 of password, user and a challenge: its default until 13.
    Md5,
    /// SCRAM with SHA-256, bound to the TLS session (RFC 5929), on PostgreSQL.
    #[serde(rename = "SCRAM-SHA-256-PLUS")]
    #[strum(serialize = "SCRAM-SHA-256-PLUS")]
    ScramSha256Plus,
    /// The client's certificate, on PostgreSQL.
    Cert,
}

impl AuthenticationMethod {
    /// Every method, in the order help texts list them.
    pub const ALL: [Self; 15] = all();

    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True for SCRAM, whose keys the client derives from the password at some cost, and may keep.
    pub fn is_scram(self) -> bool {
        matches!(self, Self::ScramSha1 | Self::ScramSha256 | Self::ScramSha256Plus)
    }

    /// True for the methods of MongoDB.
    pub fn is_of_mongodb(self) -> bool {
        matches!(
            self,
            Self::ScramSha1 | Self::ScramSha256 | Self::MongodbX509 | Self::NoLogin
        )
    }

    /// True for the methods of PostgreSQL, which shares SCRAM-SHA-256 with MongoDB.
    pub fn is_of_postgresql(self) -> bool {
        matches!(
            self,
            Self::Trust | Self::Password | Self::Md5 | Self::ScramSha256 | Self::ScramSha256Plus | Self::Cert
        )
    }

    /// True where whoever connects must show who they are.
    pub fn proves_identity(self) -> bool {
        !matches!(self, Self::NoLogin | Self::Trust)
    }

    /// True if a pooler can let a client in by it and log in to the server by the same in the client's name: it keeps what
    /// the server keeps of a password, no password and no client's certificate, and binds no login to two TLS sessions.
    pub fn is_served_by_poolers(self) -> bool {
        matches!(
            self,
            Self::Trust | Self::Md5 | Self::ScramSha256 | Self::CachingSha2Password
        )
    }

    /// True for a login by the certificate that the client shows in the TLS handshake.
    pub fn is_by_certificate(self) -> bool {
        matches!(self, Self::MongodbX509 | Self::Cert)
    }
}

/// Whether an earlier login has left what makes the next one cheaper. For `caching_sha2_password` it is on the server, which
/// remembers the password: warm logins take the fast path, cold ones the full path. For SCRAM it is in the client, which
/// keeps the keys it derived from the password. No other method has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PasswordCache {
    /// It has.
    #[default]
    Warm,
    /// It has not: every login is as the first of its account.
    Cold,
}

/// The key a private server's certificate is made with. An external server brings its own.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum CertificateKind {
    /// ECDSA over NIST P-256.
    #[default]
    EcdsaP256,
    /// ECDSA over NIST P-384.
    EcdsaP384,
    /// Ed25519 (RFC 8032).
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
