//! What a connection needs to know.

use std::sync::Arc;

use ciphertax_model::{AuthenticationMethod, Secret};

use super::account::Account;
use crate::scram::{Mechanism, ScramKeys};
use crate::tls::TlsConnector;

/// What a connection needs to know.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Who logs in, and how.
    pub login: Login,
    /// TLS; `None` for a plaintext connection.
    pub tls: Option<Arc<TlsConnector>>,
    /// Sends the first step of the login along with the greeting, which saves a round trip.
    pub speculative: bool,
    /// Where SCRAM takes its keys from.
    pub scram_keys: ScramKeys,
}

impl ConnectOptions {
    /// A plaintext connection whose login begins with the greeting and derives SCRAM's keys anew.
    pub fn new(host: impl Into<String>, port: u16, login: Login) -> Self {
        Self {
            host: host.into(),
            port,
            login,
            tls: None,
            speculative: true,
            scram_keys: ScramKeys::Derived,
        }
    }
}

/// How a connection logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// Not at all: to a server without access control, or for commands that need none.
    None,
    /// With a password that is not sent.
    Scram(Account),
    /// By the certificate that the client shows in the TLS handshake.
    X509,
}

impl Login {
    /// A login by this method; user and password are those of an account that the database `admin` knows. `None` for a
    /// method that is not MongoDB's.
    pub fn by(method: AuthenticationMethod, user: impl Into<String>, password: Secret) -> Option<Self> {
        let scram = |mechanism| Account {
            mechanism,
            user: user.into(),
            password,
            source: "admin".to_owned(),
        };
        match method {
            AuthenticationMethod::ScramSha1 => Some(Self::Scram(scram(Mechanism::ScramSha1))),
            AuthenticationMethod::ScramSha256 => Some(Self::Scram(scram(Mechanism::ScramSha256))),
            AuthenticationMethod::MongodbX509 => Some(Self::X509),
            AuthenticationMethod::NoLogin => Some(Self::None),
            _ => None,
        }
    }

    /// The method, whose name is the server's.
    pub fn method(&self) -> AuthenticationMethod {
        match self {
            Self::None => AuthenticationMethod::NoLogin,
            Self::Scram(account) => account.mechanism.method(),
            Self::X509 => AuthenticationMethod::MongodbX509,
        }
    }
}
