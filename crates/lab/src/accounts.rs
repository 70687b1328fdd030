//! The accounts of a private server.

use ciphertax_base::Secret;
use ciphertax_model::AuthenticationMethod;
use openssl::error::ErrorStack;

use crate::catalogue::Entry;
use crate::error::Result;
use crate::files::random_digits;

/// The account that every private server has.
pub(crate) const USER: &str = "ciphertax";

/// Random bytes in an account's password.
const PASSWORD_BYTES: usize = 16;

/// An account of a private server; it may do everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name; for `MONGODB-X509` the subject of its certificate. Empty for `none`.
    pub user: String,
    /// Its password; it exists in this process alone, and in the settings of an Odyssey or Pgpool-II before the server. Empty for
    /// methods that ask for none.
    pub password: Secret,
    /// How it logs in.
    pub method: AuthenticationMethod,
    /// Iterations of its keys of SCRAM; `None` for the server's own number.
    pub scram_iterations: Option<u32>,
    /// What the server keeps of its password, for what lets clients in before it; `None` where nobody reads it.
    pub verifier: Option<Secret>,
}

impl Account {
    pub(crate) fn default_of(entry: &Entry) -> Result<Self> {
        Self::with_password(USER, entry.default_method())
    }

    /// An account with a password of its own.
    pub(crate) fn with_password(user: impl Into<String>, method: AuthenticationMethod) -> Result<Self> {
        Ok(Self {
            password: random_password()?,
            ..Self::without_password(user, method)
        })
    }

    /// An account whose method asks for no password.
    pub(crate) fn without_password(user: impl Into<String>, method: AuthenticationMethod) -> Self {
        Self {
            user: user.into(),
            password: Secret::default(),
            method,
            scram_iterations: None,
            verifier: None,
        }
    }
}

fn random_password() -> Result<Secret, ErrorStack> {
    random_digits::<PASSWORD_BYTES>().map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_random() {
        let (one, other) = (random_password().unwrap(), random_password().unwrap());
        assert_eq!(one.expose().len(), 2 * PASSWORD_BYTES);
        assert_ne!(one, other);
    }
}
