//! How clients of PostgreSQL log in.

use std::sync::Arc;
use std::time::Duration;

use ciphertax_lab::Account;
use ciphertax_lab::postgresql::DATABASE;
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, Secret, TlsNegotiation};
use ciphertax_wire::Expectation;
use ciphertax_wire::postgresql::{ALPN, ConnectOptions, Method, Negotiation, ScramKeys, Session};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_workload::postgresql::PostgresqlAccess;
use ciphertax_workload::sql::Columns;

use super::counters::Readings;
use crate::database::{Clients, Endpoint, ProgramTrust, Variables};
use crate::patience::PATIENCE;

/// By which sessions of ciphertax are known on the server (`application_name`).
pub(super) const APPLICATION: &str = "ciphertax";

/// A server that speaks PostgreSQL's protocol.
#[derive(Default)]
pub(crate) struct PostgreSql {
    /// How TLS begins where an arm does not say.
    pub(super) negotiation: Negotiation,
    /// Sessions that loaded and were given up, for which the server may still work.
    pub(super) given_up: Vec<u32>,
    /// How a private server encrypts columns, where its arms ask it to.
    pub(super) columns: Option<Columns>,
    /// What is remembered of its counters.
    pub(super) readings: Readings,
}

/// Who logs in, and where.
#[derive(Clone)]
pub(crate) struct Login {
    pub(super) user: String,
    pub(super) password: Secret,
    /// The database that holds the schema; `None` for the one named like the user.
    pub(super) database: Option<String>,
    /// How; `None` for as the server asks.
    pub(super) method: Option<AuthenticationMethod>,
    /// The same over TLS, where the URL says so (`channel_binding`).
    pub(super) method_over_tls: Option<Method>,
    /// Settings of every session.
    pub(super) settings: Vec<(String, String)>,
    /// How long a connect may take that is not measured; `None` where nothing is said of it.
    pub(super) connect_timeout: Option<Duration>,
}

impl Login {
    /// The database, which has a name even where none is said.
    pub(super) fn database(&self) -> &str {
        self.database.as_ref().unwrap_or(&self.user)
    }
}

impl Clients for PostgreSql {
    const TLS_VERSIONS_STUDY: &'static str = "postgres-tls-versions";
    const DEMANDS_TLS: &'static str =
        "it demands TLS of this user (the lines that are for it in pg_hba.conf begin with hostssl)";
    const DENIAL_MAY_MEAN_TLS: bool = true;
    // As libpq does since PostgreSQL 17, however TLS begins; older servers do not look at it.
    const ALPN: Option<&'static str> = Some(ALPN);

    type Login = Login;
    type Options = ConnectOptions;
    type Session = Session;
    type Access = PostgresqlAccess;

    fn login_of(account: &Account) -> Login {
        Login {
            user: account.user.clone(),
            password: account.password.clone(),
            database: Some(DATABASE.to_owned()),
            method: Some(account.method),
            method_over_tls: None,
            settings: Vec::new(),
            connect_timeout: None,
        }
    }

    fn user_and_password(login: &Login) -> (String, Secret) {
        (login.user.clone(), login.password.clone())
    }

    fn options(endpoint: &Endpoint, login: &Login, tls: Option<Arc<TlsConnector>>) -> ConnectOptions {
        ConnectOptions {
            socket: endpoint.socket.clone(),
            database: login.database.clone(),
            settings: settings(login),
            method: match tls {
                Some(_) if login.method_over_tls.is_some() => login.method_over_tls,
                _ => login.method.and_then(|method| Method::called(method.name())),
            },
            tls,
            scram_keys: ScramKeys::kept(),
            ..ConnectOptions::new(&endpoint.host, endpoint.port, &login.user, login.password.clone())
        }
    }

    fn options_of_arm(&self, options: ConnectOptions, arm: &Arm) -> ConnectOptions {
        let method = arm.authentication.method;
        ConnectOptions {
            negotiation: match arm.tls.negotiation {
                TlsNegotiation::Request => self.negotiation,
                TlsNegotiation::Direct => Negotiation::Direct,
            },
            method: method
                .and_then(|method| Method::called(method.name()))
                .or(options.method),
            scram_keys: match arm.authentication.password_cache {
                PasswordCache::Warm => ScramKeys::kept(),
                PasswordCache::Cold => ScramKeys::Derived,
            },
            ..options
        }
    }

    fn patience(login: &Login) -> Duration {
        login.connect_timeout.unwrap_or(PATIENCE)
    }

    fn options_of_access(access: &PostgresqlAccess) -> &ConnectOptions {
        &access.options
    }

    fn lacks_password(options: &ConnectOptions) -> bool {
        options.password.expose().is_empty()
    }

    /// An arm that leaves the method open is held to that of the default account, where ciphertax has made it.
    fn expectation(arm: &Arm, login: &Login) -> Expectation {
        let mut expected = arm.clone();
        expected.authentication.method = arm.authentication.method.or(login.method);
        Expectation::of(&expected)
    }

    fn is_login_by_certificate(arm: &Arm) -> bool {
        arm.authentication.method == Some(AuthenticationMethod::Cert)
    }

    fn ssl_mode(trust: ProgramTrust) -> &'static str {
        match trust {
            ProgramTrust::Plaintext => "disable",
            ProgramTrust::Anybody => "require",
            ProgramTrust::Ca => "verify-ca",
            ProgramTrust::HostName => "verify-full",
        }
    }
}

/// By its own name a session is known on the server, whatever the target calls its sessions.
fn settings(login: &Login) -> Vec<(String, String)> {
    let name = "application_name";
    let others = login.settings.iter().filter(|(other, _)| other != name).cloned();
    others
        .chain([(name.to_owned(), APPLICATION.to_owned())])
        .collect()
}

impl Variables for PostgreSql {}
