//! What a connection needs to know.

use std::path::PathBuf;
use std::sync::Arc;

use ciphertax_model::{AuthenticationMethod, Secret};

use super::cold_accounts::ColdAccounts;
use super::public_key::TrustedKeys;
use crate::tls::TlsConnector;

/// What a connection needs to know.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User name; where there are cold accounts, theirs are used.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
    /// Schema to use.
    pub database: Option<String>,
    /// TLS; `None` for a plaintext connection.
    pub tls: Option<Arc<TlsConnector>>,
    /// Unix socket of the server to connect over instead of TCP.
    pub socket: Option<PathBuf>,
    /// The plugin of the account, where it is known. By `unix_socket` the kernel tells the server who connects, so no
    /// password is sent. For the others the server says which it wants; that it is the right one is for
    /// [`Expectation`](super::Expectation) to check.
    pub authentication: Option<AuthenticationMethod>,
    /// Whether the server may ask for rows, where [`Session::load_lines`](super::Session::load_lines) has some. Files of
    /// this machine it never gets.
    pub local_infile: bool,
    /// Whose key may encrypt the password where the server wants it without TLS.
    pub trusted_keys: TrustedKeys,
    /// Accounts of which each connect takes the next.
    pub cold_accounts: Option<Arc<ColdAccounts>>,
}

impl ConnectOptions {
    /// A plaintext connection over TCP, with a password and without a schema.
    pub fn new(host: impl Into<String>, port: u16, user: impl Into<String>, password: Secret) -> Self {
        Self {
            host: host.into(),
            port,
            user: user.into(),
            password,
            database: None,
            tls: None,
            socket: None,
            authentication: None,
            local_infile: false,
            trusted_keys: TrustedKeys::default(),
            cold_accounts: None,
        }
    }
}
