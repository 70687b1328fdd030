//! Who logs in by SCRAM.

use ciphertax_model::Secret;

use crate::scram::{self, Mechanism, Ways};

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
            ways: Ways::MongoDb,
            mechanism: self.mechanism,
            user: &self.user,
            realm: &self.source,
            password: &self.password,
        }
    }
}
