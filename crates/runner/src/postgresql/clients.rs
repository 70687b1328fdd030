//! How clients of PostgreSQL log in, and what programs of the user's own find of an arm.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ciphertax_base::Secret;
use ciphertax_base::counter::CONNECTIONS;
use ciphertax_lab::Account;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::postgresql::{DATABASE, select_canary};
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, TlsNegotiation, TlsVersion};
use ciphertax_wire::Expectation;
use ciphertax_wire::postgresql::{ALPN, ConnectOptions, Method, Negotiation, ScramKeys, Session};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_workload::dataset::SCHEMA;
use ciphertax_workload::postgresql::PostgresqlAccess;
use ciphertax_workload::sql::Columns;

use super::counters::{ASKED, COMMITTED, ROLLED_BACK, Readings};
use crate::database::{Canary, Clients, Counted, Endpoint, Reached, Relational, encoded};
use crate::error::Result;

/// By which sessions of ciphertax are known on the server (`application_name`).
pub(super) const APPLICATION: &str = "ciphertax";

/// The file with the password, which libpq reads if nobody else may.
const PASSWORDS: &str = "pgpass";
/// The names of files that are not there: without them libpq would read those of the user's own.
const NO_CA: &str = "no-root.crt";
const NO_CERTIFICATE: &str = "no-client.crt";
const NO_KEY: &str = "no-client.key";

/// Variables of libpq's that would make a program's sessions others than the arm's.
const NOT_HANDED_ON: [&str; 16] = [
    "PGPASSWORD",
    "PGHOSTADDR",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGREQUIREAUTH",
    "PGREQUIREPEER",
    "PGREQUIRESSL",
    "PGSSLCRL",
    "PGSSLCRLDIR",
    "PGSSLCERTMODE",
    "PGSSLCOMPRESSION",
    "PGSSLSNI",
    "PGTARGETSESSIONATTRS",
    "PGLOADBALANCEHOSTS",
    "PGMINPROTOCOLVERSION",
    "PGMAXPROTOCOLVERSION",
];

#[derive(Default)]
pub(crate) struct PostgreSql {
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
    /// How TLS begins where an arm does not say.
    pub(super) negotiation: Negotiation,
    /// Settings of every session.
    pub(super) settings: Vec<(String, String)>,
}

impl Login {
    /// The database, which has a name even where none is said.
    pub(super) fn database(&self) -> &str {
        self.database.as_ref().unwrap_or(&self.user)
    }
}

impl Clients for PostgreSql {
    const CERTIFICATE: Option<AuthenticationMethod> = Some(AuthenticationMethod::Cert);
    const SSL_MODES: [&'static str; 4] = ["disable", "require", "verify-ca", "verify-full"];
    const PROGRAMS_READ: &'static str = "the variables that libpq reads (PGHOST, PGSSLMODE …)";
    const TLS_VERSIONS_STUDY: &'static str = "postgres-tls-versions";
    const DEMANDS_TLS: &'static str =
        "it demands TLS of this user (the lines that are for it in pg_hba.conf begin with hostssl)";
    const DENIAL_MAY_MEAN_TLS: bool = true;
    // As libpq does since PostgreSQL 17, however TLS begins; older servers do not look at it.
    const ALPN: Option<&'static str> = Some(ALPN);

    type Model = Relational;
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
            negotiation: Negotiation::Request,
            settings: Vec::new(),
        }
    }

    fn user_and_password(login: &Login) -> (String, Secret) {
        (login.user.clone(), login.password.clone())
    }

    fn options(&self, endpoint: &Endpoint, login: &Login, tls: Option<Arc<TlsConnector>>) -> ConnectOptions {
        ConnectOptions {
            socket: endpoint.socket.clone(),
            database: login.database.clone(),
            negotiation: login.negotiation,
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
                TlsNegotiation::Request => options.negotiation,
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

    /// An arm that leaves the method open is held to that of the default account, where ciphertax has made it.
    fn expectation(arm: &Arm, login: &Login) -> Expectation {
        let mut expected = arm.clone();
        expected.authentication.method = arm.authentication.method.or(login.method);
        Expectation::of(&expected)
    }

    fn of_private(_entry: &Entry, columns: Option<Columns>, _: Option<&[Endpoint]>) -> Self {
        Self {
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
    ) -> PostgresqlAccess {
        PostgresqlAccess {
            options: ConnectOptions {
                schema: Some(SCHEMA.to_string()),
                ..options
            },
            expectation,
            connections: 1,
            is_pooled: arm.pooler.is_some(),
            columns: self.columns,
        }
    }

    fn canary(options: &ConnectOptions) -> Canary {
        Box::new(select_canary(options))
    }

    /// `postgresql://user:password@host:port/database?sslmode=…`
    fn url(reached: &Reached<'_, Self>) -> String {
        let login = reached.login;
        let credentials = match login.password.expose() {
            "" => encoded(&login.user),
            password => format!("{}:{}", encoded(&login.user), encoded(password)),
        };
        let host = match &reached.endpoint.socket {
            Some(socket) => encoded(&socket_folder(socket)),
            None => reached.host_in_url(),
        };
        let mut url = format!(
            "postgresql://{credentials}@{host}:{}/{}?sslmode={}",
            reached.endpoint.port,
            encoded(login.database()),
            reached.ssl_mode()
        );
        let mut options = vec![
            ("options", session_options(login)),
            ("channel_binding", channel_binding(reached).to_owned()),
        ];
        if let Some(ca) = reached.ca() {
            options.push(("sslrootcert", ca.to_string_lossy().into_owned()));
        }
        if let Some(client) = reached.client_certificate() {
            options.push(("sslcert", client.certificate.to_string_lossy().into_owned()));
            options.push(("sslkey", client.key.to_string_lossy().into_owned()));
        }
        if let Some(version) = reached.arm.transport.tls_version() {
            options.push(("ssl_min_protocol_version", version.name().to_owned()));
            options.push(("ssl_max_protocol_version", version.name().to_owned()));
        }
        if is_direct(reached) {
            options.push(("sslnegotiation", "direct".to_owned()));
        }
        for (name, value) in options {
            url.push_str(&format!("&{name}={}", encoded(&value)));
        }
        url
    }

    /// What libpq, and so psql, pgbench and most drivers, read
    /// (<https://www.postgresql.org/docs/current/libpq-envars.html>), all of it: what is empty is not handed on. The password is in a
    /// file.
    fn variables(reached: &Reached<'_, Self>) -> Vec<(&'static str, String)> {
        let login = reached.login;
        let in_folder = |name: &str| reached.folder.join(name).to_string_lossy().into_owned();
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let client = reached.client_certificate();
        let host = match &reached.endpoint.socket {
            Some(socket) => socket_folder(socket),
            None => reached.host().to_owned(),
        };
        let version = reached.arm.transport.tls_version().map(TlsVersion::name);
        let variables = [
            ("PGHOST", host),
            ("PGPORT", reached.endpoint.port.to_string()),
            ("PGUSER", login.user.clone()),
            ("PGDATABASE", login.database().to_owned()),
            ("PGPASSFILE", in_folder(PASSWORDS)),
            ("PGOPTIONS", session_options(login)),
            ("PGCHANNELBINDING", channel_binding(reached).to_owned()),
            ("PGGSSENCMODE", "disable".to_owned()),
            ("PGSSLMODE", reached.ssl_mode().to_owned()),
            (
                "PGSSLROOTCERT",
                reached.ca().map_or_else(|| in_folder(NO_CA), path),
            ),
            (
                "PGSSLCERT",
                client.map_or_else(|| in_folder(NO_CERTIFICATE), |client| path(&client.certificate)),
            ),
            (
                "PGSSLKEY",
                client.map_or_else(|| in_folder(NO_KEY), |client| path(&client.key)),
            ),
            ("PGSSLMINPROTOCOLVERSION", version.unwrap_or_default().to_owned()),
            ("PGSSLMAXPROTOCOLVERSION", version.unwrap_or_default().to_owned()),
            (
                "PGSSLNEGOTIATION",
                if is_direct(reached) { "direct" } else { "" }.to_owned(),
            ),
        ];
        let others = NOT_HANDED_ON.map(|name| (name, String::new()));
        variables.into_iter().chain(others).collect()
    }

    /// The file with the password.
    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let password = reached.login.password.expose();
        let escaped = password.replace('\\', "\\\\").replace(':', "\\:");
        Ok(vec![(PASSWORDS, format!("*:*:*:*:{escaped}\n").into_bytes())])
    }

    /// It counts neither TLS handshakes nor logins nor statements: a query is a transaction here.
    fn counted(_at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
        let of = |name: &str| change.get(name).copied().unwrap_or(0);
        let transactions = of(COMMITTED) + of(ROLLED_BACK) - of(ASKED);
        Counted {
            connections: change.get(CONNECTIONS).copied(),
            handshakes: None,
            completed: 0,
            logins: None,
            queries: transactions.max(0).unsigned_abs(),
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

/// The folder of the file whose name libpq makes of the port.
fn socket_folder(socket: &Path) -> String {
    let folder = socket.parent().unwrap_or(Path::new("/"));
    folder.to_string_lossy().into_owned()
}

fn is_direct(reached: &Reached<'_, PostgreSql>) -> bool {
    let is_said = reached.arm.tls.negotiation == TlsNegotiation::Direct;
    reached.policy.is_some() && (is_said || reached.login.negotiation == Negotiation::Direct)
}

/// What libpq calls a login by SCRAM with the certificate in it, which it takes wherever TLS offers it unless told: as the sessions of the
/// arm log in.
fn channel_binding(reached: &Reached<'_, PostgreSql>) -> &'static str {
    let Login {
        method,
        method_over_tls,
        ..
    } = reached.login;
    let over_tls = method_over_tls.filter(|_| reached.policy.is_some());
    let called = |method: AuthenticationMethod| Method::called(method.name());
    let of_arm = reached.arm.authentication.method.and_then(called);
    match of_arm.or(over_tls).or(method.and_then(called)) {
        Some(Method::ScramSha256Plus) if reached.policy.is_some() => "require",
        Some(Method::ScramSha256) => "disable",
        _ => "prefer",
    }
}

/// The settings of the arm's sessions, as arguments of a server (`options`).
fn session_options(login: &Login) -> String {
    let mut options = format!("-csearch_path={SCHEMA}");
    for (name, value) in login
        .settings
        .iter()
        .filter(|(name, _)| name != "application_name")
    {
        let escaped = value.replace('\\', "\\\\").replace(' ', "\\ ");
        options.push_str(&format!(" -c{name}={escaped}"));
    }
    options
}

#[cfg(test)]
mod tests {
    use ciphertax_model::Transport;
    use ciphertax_model::load::Placeholder;
    use ciphertax_wire::tls::{TlsPolicy, Verification};

    use super::*;

    fn login() -> Login {
        Login {
            user: "app".into(),
            password: Secret::new("p:#\\é"),
            database: None,
            method: None,
            method_over_tls: None,
            negotiation: Negotiation::Request,
            settings: Vec::new(),
        }
    }

    fn reached<'a>(
        arm: &'a Arm,
        endpoint: &'a Endpoint,
        login: &'a Login,
        policy: Option<&'a TlsPolicy>,
    ) -> Reached<'a, PostgreSql> {
        Reached {
            arm,
            endpoint,
            login,
            policy,
            folder: "/tmp/f".into(),
        }
    }

    #[test]
    fn a_url_holds_whatever_a_password_holds() {
        let arm = Arm::new("plain", Transport::Plain);
        let (endpoint, login) = (Endpoint::new("::1", 5433), login());
        assert_eq!(
            PostgreSql::url(&reached(&arm, &endpoint, &login, None)),
            "postgresql://app:p%3A%23%5C%C3%A9@[::1]:5433/app?sslmode=disable&options=%2Dcsearch%5Fpath%3Dciphertax\
             &channel_binding=prefer"
        );
    }

    #[test]
    fn libpq_is_told_of_a_tls_arm_and_finds_the_password_in_a_file() {
        let mut arm = Arm::new("tls", Transport::Tls13);
        arm.tls.negotiation = TlsNegotiation::Direct;
        let (endpoint, login) = (Endpoint::new("127.0.0.1", 5433), login());
        let policy = TlsPolicy::new(None, Verification::HostName("/ca.pem".into(), "127.0.0.1".into()));
        let reached = reached(&arm, &endpoint, &login, Some(&policy));
        let variables: BTreeMap<&str, String> = PostgreSql::variables(&reached).into_iter().collect();
        for (name, value) in [
            ("PGSSLMODE", "verify-full"),
            ("PGSSLROOTCERT", "/ca.pem"),
            ("PGSSLCERT", "/tmp/f/no-client.crt"),
            ("PGSSLMINPROTOCOLVERSION", "TLSv1.3"),
            ("PGSSLNEGOTIATION", "direct"),
            ("PGPASSFILE", "/tmp/f/pgpass"),
            ("PGDATABASE", "app"),
        ] {
            assert_eq!(variables[name], value, "{name}");
        }
        assert_eq!(reached.value(Placeholder::SslMode), "verify-full");
        assert!(!variables.values().any(|value| value.contains("p:#")));
        let files = PostgreSql::files(&reached).unwrap();
        assert_eq!(files, [(PASSWORDS, "*:*:*:*:p\\:#\\\\é\n".as_bytes().to_vec())]);
    }

    #[test]
    fn programs_log_in_and_are_set_as_the_sessions_of_their_arm() {
        let endpoint = Endpoint::new("127.0.0.1", 5433);
        let policy = TlsPolicy::new(None, Verification::None);
        let said = |method: Option<AuthenticationMethod>, login: &Login, policy: Option<&TlsPolicy>| {
            let mut arm = Arm::new("arm", Transport::Tls13);
            arm.authentication.method = method;
            let variables = PostgreSql::variables(&reached(&arm, &endpoint, login, policy));
            let mut variables: BTreeMap<&str, String> = variables.into_iter().collect();
            ["PGCHANNELBINDING", "PGSSLNEGOTIATION", "PGOPTIONS"].map(|name| variables.remove(name).unwrap())
        };
        let [scram, plus] = [
            AuthenticationMethod::ScramSha256,
            AuthenticationMethod::ScramSha256Plus,
        ];
        let of_url = Login {
            method_over_tls: Some(Method::ScramSha256),
            negotiation: Negotiation::Direct,
            settings: vec![
                ("role".into(), "a b\\c".into()),
                ("application_name".into(), "x".into()),
            ],
            ..login()
        };
        let path = "-csearch_path=ciphertax";
        for (method, login, policy, expected) in [
            (Some(plus), login(), Some(&policy), ["require", "", path]),
            (Some(scram), login(), Some(&policy), ["disable", "", path]),
            (None, login(), Some(&policy), ["prefer", "", path]),
            (Some(plus), login(), None, ["prefer", "", path]),
            (
                None,
                of_url.clone(),
                Some(&policy),
                ["disable", "direct", &format!("{path} -crole=a\\ b\\\\c")],
            ),
            (
                Some(plus),
                of_url,
                None,
                ["prefer", "", &format!("{path} -crole=a\\ b\\\\c")],
            ),
        ] {
            assert_eq!(said(method, &login, policy), expected, "{method:?}");
        }
    }

    #[test]
    fn a_plaintext_arm_says_nothing_of_tls() {
        let arm = Arm::new("plain", Transport::Plain);
        let (endpoint, login) = (Endpoint::new("127.0.0.1", 5433), login());
        let variables: BTreeMap<&str, String> =
            PostgreSql::variables(&reached(&arm, &endpoint, &login, None))
                .into_iter()
                .collect();
        assert_eq!(variables["PGSSLMODE"], "disable");
        for name in ["PGSSLNEGOTIATION", "PGSSLMINPROTOCOLVERSION", "PGPASSWORD"] {
            assert_eq!(variables[name], "", "{name} is handed on");
        }
    }
}
