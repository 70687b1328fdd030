//! How an account logs in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::variants::all;

/// How the account of an arm logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Authentication {
    /// The account's plugin; `None` for the server's default account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<AuthenticationMethod>,
    /// Whether an earlier login has left what makes the next one cheaper.
    pub password_cache: PasswordCache,
    /// Whether the client sends the first step of the login along with its greeting, and so saves a round trip; for
    /// MongoDB's methods alone.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub speculative: bool,
}

impl Default for Authentication {
    fn default() -> Self {
        Self {
            method: None,
            password_cache: PasswordCache::default(),
            speculative: true,
        }
    }
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl Authentication {
    /// True when nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// An authentication method, by the server's own name for it.
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
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
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
    /// The user of the operating system, over a Unix socket.
    UnixSocket,
    /// MongoDB's SCRAM with SHA-1 (RFC 5802), over the MD5 of user and password.
    #[serde(rename = "SCRAM-SHA-1")]
    #[strum(serialize = "SCRAM-SHA-1")]
    ScramSha1,
    /// SCRAM with SHA-256 (RFC 7677): the default of MongoDB since 4.0.
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
}

impl AuthenticationMethod {
    /// Every method, in the order help texts list them.
    pub const ALL: [Self; 9] = all();

    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True for SCRAM, whose keys the client derives from the password at some cost, and may keep.
    pub fn is_scram(self) -> bool {
        matches!(self, Self::ScramSha1 | Self::ScramSha256)
    }

    /// True for the methods of MongoDB.
    pub fn is_of_mongodb(self) -> bool {
        self.is_scram() || matches!(self, Self::MongodbX509 | Self::NoLogin)
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
