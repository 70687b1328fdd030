//! How an account logs in.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the account of an arm logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Authentication {
    /// The account's plugin; `None` for the server's default account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<AuthenticationMethod>,
    /// Whether the server still knows the password of an earlier login.
    pub password_cache: PasswordCache,
}

impl Authentication {
    /// True when nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// An authentication plugin, by the server's own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
}

impl AuthenticationMethod {
    /// Every method, in the order help texts list them.
    pub const ALL: [Self; 5] = [
        Self::MysqlNativePassword,
        Self::CachingSha2Password,
        Self::Sha256Password,
        Self::Ed25519,
        Self::UnixSocket,
    ];

    /// The name used in study files.
    pub fn name(self) -> &'static str {
        match self {
            Self::MysqlNativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
            Self::Sha256Password => "sha256_password",
            Self::Ed25519 => "ed25519",
            Self::UnixSocket => "unix_socket",
        }
    }
}

impl fmt::Display for AuthenticationMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the server still knows the password of an earlier login. For `caching_sha2_password` alone: warm logins take
/// the fast path, cold ones the full path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PasswordCache {
    /// It does.
    #[default]
    Warm,
    /// It does not: every login is the first of its account since the cache was emptied.
    Cold,
}
