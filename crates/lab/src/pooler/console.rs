//! PgBouncer's console: a database that it answers for itself, and who may ask it what it does.

use ciphertax_model::{AuthenticationMethod, Secret};
use ciphertax_wire::postgresql::{ConnectOptions, Method, ScramKeys};

use crate::accounts::Account;
use crate::error::Result;
use crate::postgresql::verifier::{SCRAM_ITERATIONS, scram};

/// The console's name among the databases.
pub(super) const DATABASE: &str = "pgbouncer";

/// Who may look at it, and nobody else: the server does not know this one.
const USER: &str = "ciphertax_console";

/// Who may look at a pooler's console.
#[derive(Debug)]
pub(super) struct Console(Account);

impl Console {
    /// With a password of its own.
    pub(super) fn new() -> Result<Self> {
        let account = Account::with_password(USER, AuthenticationMethod::ScramSha256)?;
        let verifier = scram(&account.password, SCRAM_ITERATIONS)?;
        Ok(Self(Account {
            verifier: Some(Secret::new(verifier)),
            ..account
        }))
    }

    /// Its account at the pooler.
    pub(super) fn account(&self) -> &Account {
        &self.0
    }

    /// The console of the pooler that a client connects to, over connections of the same kind.
    pub(super) fn reached_as(&self, client: &ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            user: self.0.user.clone(),
            password: self.0.password.clone(),
            database: Some(DATABASE.into()),
            schema: None,
            settings: Vec::new(),
            method: Some(Method::ScramSha256),
            scram_keys: ScramKeys::Derived,
            ..client.clone()
        }
    }
}
