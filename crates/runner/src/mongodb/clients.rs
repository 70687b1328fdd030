//! How clients of MongoDB log in.

use std::sync::Arc;

use ciphertax_lab::Account;
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, Secret};
use ciphertax_wire::mongodb::{ConnectOptions, Login, ScramKeys, Session};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_wire::{Address, Expectation};
use ciphertax_workload::mongodb::MongodbAccess;

use crate::database::{Clients, Endpoint, Variables};

/// A MongoDB.
pub(crate) struct MongoDb {
    pub(super) is_replica_set: bool,
    /// The name that the replica set must have.
    pub(super) set_name: Option<String>,
    /// The members of a private replica set, as these call each other.
    pub(super) members: Vec<Address>,
}

impl Clients for MongoDb {
    const TLS_VERSIONS_STUDY: &'static str = "mongodb-tls-versions";
    const DEMANDS_TLS: &'static str = "it demands TLS (net.tls.mode requireTLS)";
    const DENIAL_MAY_MEAN_TLS: bool = false;

    type Login = Login;
    type Options = ConnectOptions;
    type Session = Session;
    type Access = MongodbAccess;

    fn login_of(account: &Account) -> Login {
        Login::by(account.method, &account.user, account.password.clone()).unwrap_or(Login::None)
    }

    fn user_and_password(login: &Login) -> (String, Secret) {
        match login {
            Login::Scram(account) => (account.user.clone(), account.password.clone()),
            Login::None | Login::X509 => Default::default(),
        }
    }

    fn options(endpoint: &Endpoint, login: &Login, tls: Option<Arc<TlsConnector>>) -> ConnectOptions {
        ConnectOptions {
            tls,
            scram_keys: ScramKeys::kept(),
            ..ConnectOptions::new(&endpoint.host, endpoint.port, login.clone())
        }
    }

    fn options_of_arm(&self, options: ConnectOptions, arm: &Arm) -> ConnectOptions {
        ConnectOptions {
            speculative: arm.authentication.speculative,
            scram_keys: match arm.authentication.password_cache {
                PasswordCache::Warm => ScramKeys::kept(),
                PasswordCache::Cold => ScramKeys::Derived,
            },
            ..options
        }
    }

    fn options_of_access(access: &MongodbAccess) -> &ConnectOptions {
        &access.options
    }

    fn lacks_password(options: &ConnectOptions) -> bool {
        matches!(&options.login, Login::Scram(account) if account.password.expose().is_empty())
    }

    /// An arm that leaves the method open is held to that of the default account.
    fn expectation(arm: &Arm, login: &Login) -> Expectation {
        let mut expected = arm.clone();
        expected.authentication.method = Some(login.method());
        Expectation::of(&expected)
    }

    fn is_login_by_certificate(arm: &Arm) -> bool {
        arm.authentication.method == Some(AuthenticationMethod::MongodbX509)
    }
}

impl Variables for MongoDb {}
