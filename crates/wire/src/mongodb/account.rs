//! Who logs in by SCRAM.

use ciphertax_model::Secret;

use crate::scram::{self, Mechanism, Rules};

/// MongoDB's specification and RFC 7677, section 4, name 4,096 iterations.
pub(crate) const RULES: Rules = Rules {
    fewest_iterations: 4096,
    names_user: true,
    takes_any_password: false,
};

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

impl Account {
    /// The same, for the exchange.
    pub(super) fn scram(&self) -> scram::Account<'_> {
        scram::Account {
            rules: RULES,
            mechanism: self.mechanism,
            user: &self.user,
            realm: &self.source,
            password: &self.password,
        }
    }
}
