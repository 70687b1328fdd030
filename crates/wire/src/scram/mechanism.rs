//! SCRAM with one of its hashes.

use ciphertax_model::AuthenticationMethod;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;

use crate::error::WireError;

/// SCRAM with one of its hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// RFC 5802, over the MD5 of user and password, as MongoDB has it.
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

    pub(super) fn digest(self) -> MessageDigest {
        match self {
            Self::ScramSha1 => MessageDigest::sha1(),
            Self::ScramSha256 => MessageDigest::sha256(),
        }
    }

    pub(super) fn hmac(self, key: &[u8], message: &[u8]) -> Result<Vec<u8>, WireError> {
        let sign = || {
            let key = PKey::hmac(key)?;
            Signer::new(self.digest(), &key)?.sign_oneshot_to_vec(message)
        };
        sign().map_err(broken)
    }
}

pub(super) fn broken(error: ErrorStack) -> WireError {
    WireError::Authentication(format!("OpenSSL cannot do what SCRAM needs: {error}"))
}
