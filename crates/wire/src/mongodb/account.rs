//! Who logs in by SCRAM.

use ciphertax_model::{AuthenticationMethod, Secret};

/// Who logs in by SCRAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The hash.
    pub mechanism: Mechanism,
    /// User name.
    pub user: String,
    /// Password.
    pub password: Secret,
    /// The database that knows the user (`authSource`).
    pub source: String,
}

/// SCRAM with one of its hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// RFC 5802, over the MD5 of user and password.
    ScramSha1,
    /// RFC 7677.
    ScramSha256,
}

impl Mechanism {
    /// The method that it is.
    pub fn method(self) -> AuthenticationMethod {
        match self {
            Self::ScramSha1 => AuthenticationMethod::ScramSha1,
            Self::ScramSha256 => AuthenticationMethod::ScramSha256,
        }
    }
}
