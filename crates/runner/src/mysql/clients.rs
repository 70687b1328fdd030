//! How clients of MySQL log in, and what programs of the user's own find of an arm.

use std::collections::BTreeMap;
use std::sync::Arc;

use ciphertax_base::Secret;
use ciphertax_lab::Account;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::mysql::select_canary;
use ciphertax_model::load::Placeholder;
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache};
use ciphertax_wire::mysql::{ColdAccounts, ConnectOptions, KeysOverTls, Session, TrustedKeys};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_wire::{Expectation, is_this_machine};
use ciphertax_workload::dataset;
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::Columns;

use super::encdb::Encdb;
use super::environment::{SYSBENCH_CA, SYSBENCH_CERTIFICATE, SYSBENCH_KEY, my_cnf, sysbench_cnf};
use crate::database::{Canary, Clients, Counted, Endpoint, Reached, Relational, encoded};
use crate::error::Result;

/// A file that is not there: without it programs would read `~/.mylogin.cnf` of the user's own, after the option file.
const NO_LOGINS: &str = "no-logins.cnf";
/// The name of the option file for MySQL's and MariaDB's programs in an arm's folder.
pub(super) const MY_CNF: &str = "my.cnf";
/// The name of that for sysbench.
pub(super) const SYSBENCH_CNF: &str = "sysbench.cnf";

#[derive(Default)]
pub(crate) struct MySql {
    /// The statement after which a private server remembers no password, where there is one.
    pub(super) forget_passwords: Option<&'static str>,
    /// Accounts for arms whose logins the server must not remember.
    pub(super) cold_accounts: Option<Arc<ColdAccounts>>,
    /// How a private server encrypts columns, where its arms ask it to.
    pub(super) columns: Option<Columns>,
    /// For which account a server of the user's own encrypts results; `None` for all that do not.
    pub(super) encdb: Option<Encdb>,
}

#[derive(Clone)]
pub(crate) struct Login {
    pub(super) user: String,
    pub(super) password: Secret,
    /// The schema that sessions begin in; `None` for none.
    pub(super) schema: Option<String>,
    pub(super) keys: Keys,
}

/// Whose public key may encrypt the password where it is sent without TLS.
#[derive(Clone)]
pub(super) enum Keys {
    /// Whatever the server is: a private one, or one whose URL says so.
    These(TrustedKeys),
    /// Those that the servers name over TLS by this policy, which verifies them.
    OverTls(Box<TlsPolicy>),
    /// That of a server which is on this machine.
    ThisMachine,
}

impl Keys {
    fn of(&self, endpoint: &Endpoint) -> TrustedKeys {
        match self {
            Self::These(keys) => keys.clone(),
            Self::OverTls(policy) => {
                let mut policy = TlsPolicy::clone(policy);
                if let Verification::HostName(_, name) = &mut policy.verification {
                    name.clone_from(&endpoint.host);
                }
                TrustedKeys::OverTls(Arc::new(KeysOverTls::new(policy, &endpoint.host, endpoint.port)))
            }
            // Also where a relay of ciphertax on this machine is what is connected to.
            Self::ThisMachine if is_this_machine(&endpoint.host) => TrustedKeys::ThisMachine,
            Self::ThisMachine => TrustedKeys::Nobody,
        }
    }
}

impl Clients for MySql {
    const SOCKET: Option<AuthenticationMethod> = Some(AuthenticationMethod::UnixSocket);
    const FILES: &'static [(Placeholder, &'static str)] = &[
        (Placeholder::MyCnf, MY_CNF),
        (Placeholder::SysbenchCnf, SYSBENCH_CNF),
    ];
    const PROGRAMS_READ: &'static str = "the file {my_cnf}";
    const TLS_VERSIONS_STUDY: &'static str = "mysql-tls-versions";
    const DEMANDS_TLS: &'static str =
        "it demands TLS of this user (require_secure_transport, or REQUIRE SSL of the account)";
    // MariaDB answers so, and every server to an account that requires TLS.
    const DENIAL_MAY_MEAN_TLS: bool = true;

    type Model = Relational;
    type Login = Login;
    type Options = ConnectOptions;
    type Session = Session;
    type Access = MysqlAccess;

    fn login_of(account: &Account) -> Login {
        Login {
            user: account.user.clone(),
            password: account.password.clone(),
            schema: None,
            keys: Keys::These(TrustedKeys::Anybody),
        }
    }

    fn user_and_password(login: &Login) -> (String, Secret) {
        (login.user.clone(), login.password.clone())
    }

    fn options(&self, endpoint: &Endpoint, login: &Login, tls: Option<Arc<TlsConnector>>) -> ConnectOptions {
        ConnectOptions {
            socket: endpoint.socket.clone(),
            database: login.schema.clone(),
            tls,
            trusted_keys: login.keys.of(endpoint),
            ..ConnectOptions::new(&endpoint.host, endpoint.port, &login.user, login.password.clone())
        }
    }

    fn options_of_arm(&self, options: ConnectOptions, arm: &Arm) -> ConnectOptions {
        let encdb = self.encdb.as_ref();
        let account = encdb.and_then(|encdb| encdb.account_of(arm.columns.as_ref()));
        let (user, password) = match account {
            Some(account) => (account.user.clone(), account.password.clone()),
            None => (options.user, options.password),
        };
        ConnectOptions {
            user,
            password,
            authentication: arm.authentication.method,
            cold_accounts: self.cold_accounts.clone().filter(|_| is_cold(arm)),
            ..options
        }
    }

    fn expectation(arm: &Arm, _login: &Login) -> Expectation {
        Expectation::of(arm)
    }

    fn of_private(entry: &Entry, columns: Option<Columns>, _: Option<&[Endpoint]>) -> Self {
        Self {
            forget_passwords: entry.capabilities.forget_passwords,
            columns,
            ..Self::default()
        }
    }

    fn access(
        &self,
        arm: &Arm,
        options: ConnectOptions,
        expectation: Expectation,
        _measured: &[Endpoint],
    ) -> MysqlAccess {
        MysqlAccess {
            options: ConnectOptions {
                database: Some(dataset::SCHEMA.to_owned()),
                ..options
            },
            expectation,
            connections: 1,
            is_pooled: arm.pooler.is_some(),
            forget_passwords: self.forget_passwords.filter(|_| is_cold(arm)),
            columns: self.columns,
            key_exchange: self
                .encdb
                .as_ref()
                .and_then(|encdb| encdb.exchange_of(arm.columns.as_ref())),
        }
    }

    fn canary(options: &ConnectOptions) -> Canary {
        Box::new(select_canary(options))
    }

    /// `mysql://user:password@host:port/schema?ssl-mode=…`
    fn url(reached: &Reached<'_, Self>) -> String {
        let mut url = format!(
            "mysql://{}:{}@{}:{}/{}?ssl-mode={}",
            encoded(&reached.login.user),
            encoded(reached.login.password.expose()),
            reached.host_in_url(),
            reached.endpoint.port,
            dataset::SCHEMA,
            reached.ssl_mode()
        );
        for (name, placeholder) in [
            ("ssl-ca", Placeholder::SslCa),
            ("ssl-cert", Placeholder::SslCert),
            ("ssl-key", Placeholder::SslKey),
            ("tls-version", Placeholder::TlsVersion),
            ("socket", Placeholder::Socket),
        ] {
            let value = reached.value(placeholder);
            if !value.is_empty() {
                url.push_str(&format!("&{name}={}", encoded(&value)));
            }
        }
        url
    }

    /// What the programs of MySQL and MariaDB read beside the option file, of which they would take somebody else's word
    /// (<https://dev.mysql.com/doc/refman/8.4/en/environment-variables.html>).
    fn variables(reached: &Reached<'_, Self>) -> Vec<(&'static str, String)> {
        let no_logins = reached.folder.join(NO_LOGINS).to_string_lossy().into_owned();
        let not_handed_on = [
            "MYSQL_HOST",
            "MYSQL_TCP_PORT",
            "MYSQL_UNIX_PORT",
            "MYSQL_PWD",
            "MYSQL_GROUP_SUFFIX",
            "MARIADB_GROUP_SUFFIX",
        ];
        let not_handed_on = not_handed_on.map(|name| (name, String::new()));
        [("MYSQL_TEST_LOGIN_FILE", no_logins)]
            .into_iter()
            .chain(not_handed_on)
            .collect()
    }

    /// The option files, and copies of certificates.
    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let mut files = vec![
            (MY_CNF, my_cnf(reached).into_bytes()),
            (SYSBENCH_CNF, sysbench_cnf(reached).into_bytes()),
        ];
        let client = reached.client_certificate();
        let copies = [
            (SYSBENCH_CA, reached.ca()),
            (
                SYSBENCH_CERTIFICATE,
                client.map(|client| client.certificate.as_path()),
            ),
            (SYSBENCH_KEY, client.map(|client| client.key.as_path())),
        ];
        for (name, from) in copies {
            if let Some(from) = from {
                files.push((name, reached.read(from)?));
            }
        }
        Ok(files)
    }

    /// Since an arm was proved before, a server that has not counted any handshake yet, counts none.
    fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
        let of = |name: &str| change.get(name).copied().unwrap_or(0);
        let counts_handshakes = at_the_end.get("Ssl_accepts").is_some_and(|all| *all > 0);
        Counted {
            connections: Some(of("Connections")),
            handshakes: counts_handshakes.then(|| of("Ssl_accepts")),
            completed: of("Ssl_finished_accepts"),
            logins: None,
            // But for the one that asked for these counts.
            queries: (of("Questions") - 1).max(0).unsigned_abs(),
        }
    }
}

/// True if an arm's logins find a server that does not remember the password.
pub(super) fn is_cold(arm: &Arm) -> bool {
    arm.authentication.password_cache == PasswordCache::Cold
}
