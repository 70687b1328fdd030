//! PgBouncer's files: its settings, whom it knows, and how they log in.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ciphertax_base::Secret;
use ciphertax_model::{AuthenticationMethod, PoolMode, Pooler, TlsVersion, Transport};
use ciphertax_supervise::guard::Ending;

use super::proof::{self, Console};
use crate::accounts::Account;
use crate::certificates::CertificateFiles;
use crate::error::Result;
use crate::postgresql::DATABASE;
use crate::tunnel::program::{Program, write_settings};

/// Whom it knows, and what the server keeps of their passwords.
const ACCOUNTS: &str = "accounts.txt";

/// How they log in.
const HBA: &str = "pgbouncer_hba.conf";

/// Connections to the server that all clients of an account share at most when each holds one: as many as clients.
const SESSION_POOL: u32 = 1000;

/// The same when they are shared: PgBouncer's own number.
const TRANSACTION_POOL: u32 = 20;

/// Statements that it remembers of each connection.
const PREPARED_STATEMENTS: u32 = 1000;

/// What every pooler is started with: nothing runs out, nothing is written down for every connection, and startup
/// parameters of clients that the server is told by their accounts are no errors.
const SETTINGS: [(&str, &str); 10] = [
    ("unix_socket_dir", ""),
    ("auth_type", "hba"),
    ("max_client_conn", "10000"),
    (
        "ignore_startup_parameters",
        "search_path,extra_float_digits,options",
    ),
    ("log_connections", "0"),
    ("log_disconnections", "0"),
    ("log_stats", "0"),
    // A link takes its time.
    ("client_login_timeout", "60"),
    ("server_login_retry", "1"),
    ("server_idle_timeout", "0"),
];

/// OpenSSL's ciphers with what its security levels forbid: TLS before 1.2.
const EVERY_SECURITY_LEVEL: &str = "HIGH:MEDIUM:+3DES:!aNULL:@SECLEVEL=0";

/// The name by which clients reach the server's database through a relay, while there is one.
pub(super) const BY_RELAY: &str = "ciphertax_by_relay";

/// What a pooler is started with.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) pooler: Pooler,
    /// That of its clients.
    pub(super) transport: Transport,
    pub(super) version: Version,
    /// Where the server listens on the loopback address.
    pub(super) server_port: u16,
    /// The server's certificate.
    pub(super) tls: Option<CertificateFiles>,
    pub(super) folder: PathBuf,
    pub(super) console: Console,
}

impl Settings {
    /// Where the settings file of one that listens there is.
    pub(super) fn path(&self, listen: SocketAddr) -> PathBuf {
        self.folder.join(format!("pgbouncer-{}.ini", listen.port()))
    }

    /// Its settings file; with the port of a relay to the server, if there is one.
    pub(super) fn text(&self, listen: SocketAddr, relay: Option<u16>) -> String {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let files = [
            ("listen_addr", listen.ip().to_string()),
            ("listen_port", listen.port().to_string()),
            ("auth_file", path(ACCOUNTS)),
            ("auth_hba_file", path(HBA)),
            ("stats_users", self.console.account().user.clone()),
        ];
        let lines: String = files
            .into_iter()
            .chain(SETTINGS.map(|(name, value)| (name, value.to_owned())))
            .chain(self.certificates())
            .chain(self.of_interest())
            .map(|(name, value)| format!("{name} = {value}\n"))
            .collect();
        let database = |name, port| format!("{name} = host=127.0.0.1 port={port} dbname={DATABASE}\n");
        let by_relay = relay.map_or(String::new(), |port| database(BY_RELAY, port));
        format!(
            "[databases]\n{}{by_relay}[pgbouncer]\n{lines}",
            database(DATABASE, self.server_port)
        )
    }

    /// Writes down whom it knows, and how they log in: each by the method of its account, to the console who watches it,
    /// and nobody else.
    pub(super) fn write_accounts(&self, accounts: &[&Account]) -> Result<()> {
        let databases = format!("{DATABASE},{BY_RELAY}");
        let of_clients = accounts.iter().map(|account| (databases.as_str(), *account));
        let all = || {
            of_clients
                .clone()
                .chain([(proof::CONSOLE_DATABASE, self.console.account())])
        };
        let known: String = all().map(|(_, account)| known(account)).collect();
        write_settings(&self.folder.join(ACCOUNTS), &known)?;
        let logins: String = all()
            .map(|(databases, account)| login(databases, account))
            .collect();
        write_settings(&self.folder.join(HBA), &logins)
    }

    /// What is recorded.
    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let program = ("program", self.version.to_string());
        let facts = [program].into_iter().chain(self.of_interest());
        facts.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// What matters for a measurement.
    fn of_interest(&self) -> Vec<(&'static str, String)> {
        let pool = match self.pooler.pgbouncer {
            PoolMode::Session => SESSION_POOL,
            PoolMode::Transaction => TRANSACTION_POOL,
        };
        let mut settings = vec![
            ("pool_mode", self.pooler.pgbouncer.name().to_owned()),
            ("default_pool_size", pool.to_string()),
        ];
        settings.extend(of_tls(
            self.transport,
            ["client_tls_sslmode", "client_tls_protocols", "client_tls_ciphers"],
            "require",
        ));
        settings.extend(of_tls(
            self.pooler.server_transport,
            ["server_tls_sslmode", "server_tls_protocols", "server_tls_ciphers"],
            "verify-full",
        ));
        if self.version.keeps_prepared_statements() {
            settings.push(("max_prepared_statements", PREPARED_STATEMENTS.to_string()));
        }
        settings
    }

    fn certificates(&self) -> Vec<(&'static str, String)> {
        let Some(files) = &self.tls else {
            return Vec::new();
        };
        let text = |path: &Path| path.display().to_string();
        let mut settings = Vec::new();
        if self.transport.is_encrypted() {
            settings.push(("client_tls_cert_file", text(&files.certificate)));
            settings.push(("client_tls_key_file", text(&files.key)));
        }
        if self.pooler.server_transport.is_encrypted() {
            settings.push(("server_tls_ca_file", text(&files.ca)));
        }
        settings
    }
}

/// Whether connections are encrypted, and how: nothing else is taken.
fn of_tls(transport: Transport, names: [&'static str; 3], mode: &str) -> Vec<(&'static str, String)> {
    let [sslmode, protocols, ciphers] = names;
    if !transport.is_encrypted() {
        return vec![(sslmode, "disable".into())];
    }
    let mut settings = vec![(sslmode, mode.to_owned())];
    if let Some(version) = transport.tls_version() {
        let name = match version {
            TlsVersion::V1_0 => "tlsv1.0",
            TlsVersion::V1_1 => "tlsv1.1",
            TlsVersion::V1_2 => "tlsv1.2",
            TlsVersion::V1_3 => "tlsv1.3",
        };
        settings.push((protocols, name.into()));
        if version < TlsVersion::V1_2 {
            settings.push((ciphers, EVERY_SECURITY_LEVEL.into()));
        }
    }
    settings
}

fn known(account: &Account) -> String {
    let verifier = account.verifier.as_ref().map_or("", Secret::expose);
    format!("\"{}\" \"{verifier}\"\n", account.user)
}

/// Who fits no line is rejected.
fn login(databases: &str, account: &Account) -> String {
    let method = match account.method {
        AuthenticationMethod::Trust => "trust",
        AuthenticationMethod::Md5 => "md5",
        _ => "scram-sha-256",
    };
    format!("host {databases} {} 0.0.0.0/0 {method}\n", account.user)
}

/// Major and minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32);

/// Since this, SIGTERM waits for clients.
const WAITS_FOR_CLIENTS: Version = Version(1, 23);

/// Since this, its lists of connections say whether they replicate, in a column before the state.
const SAYS_REPLICATION: Version = Version(1, 23);

/// Since this, it knows which statements a client has prepared.
const KEEPS_PREPARED_STATEMENTS: Version = Version(1, 21);

impl Version {
    /// `PgBouncer 1.18.0`
    pub(super) fn of(program: &Program) -> Result<Self> {
        let said = program.says("--version", "PgBouncer ")?;
        Ok(Self::parse(&said))
    }

    /// What cannot be read is as good as the oldest.
    fn parse(text: &str) -> Self {
        let mut numbers = text.trim().split('.').map(|number| number.parse().unwrap_or(0));
        Self(numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    /// Where the lists of clients and servers have the address of a connection (`ptr`), from 0; that of its counterpart
    /// (`link`), the process of its peer and its TLS follow it.
    pub(super) fn column_of_address(self) -> usize {
        13 + usize::from(self >= SAYS_REPLICATION)
    }

    pub(super) fn keeps_prepared_statements(self) -> bool {
        self >= KEEPS_PREPARED_STATEMENTS
    }

    /// How it is made to end at once.
    pub(super) fn ending(self) -> Ending {
        if self >= WAITS_FOR_CLIENTS {
            Ending::Quit
        } else {
            Ending::Terminate
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgBouncer {}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_all_that_is_taken() {
        let settings = of_tls(Transport::Tls13, ["mode", "protocols", "ciphers"], "require");
        assert_eq!(
            settings,
            [
                ("mode", "require".to_owned()),
                ("protocols", "tlsv1.3".to_owned())
            ]
        );
        let old = of_tls(Transport::Tls11, ["mode", "protocols", "ciphers"], "require");
        assert_eq!(old[2], ("ciphers", EVERY_SECURITY_LEVEL.to_owned()));
        let plain = of_tls(Transport::Plain, ["mode", "protocols", "ciphers"], "require");
        assert_eq!(plain, [("mode", "disable".to_owned())]);
    }

    #[test]
    fn accounts_are_known_by_their_verifiers() {
        let account = Account {
            verifier: Some(Secret::new("SCRAM-SHA-256$1:a$b:c")),
            ..Account::without_password("a", AuthenticationMethod::ScramSha256)
        };
        assert_eq!(known(&account), "\"a\" \"SCRAM-SHA-256$1:a$b:c\"\n");
        assert_eq!(login("d", &account), "host d a 0.0.0.0/0 scram-sha-256\n");
    }

    #[test]
    fn newer_releases_wait_for_clients_and_keep_statements() {
        let old = Version::parse("1.18.0\n");
        assert_eq!(
            (old.ending(), old.keeps_prepared_statements()),
            (Ending::Terminate, false)
        );
        let new = Version::parse("1.25.1");
        assert_eq!(
            (new.ending(), new.keeps_prepared_statements()),
            (Ending::Quit, true)
        );
        assert_eq!(new.to_string(), "PgBouncer 1.25");
        assert_eq!((old.column_of_address(), new.column_of_address()), (13, 14));
        assert!(Version::parse("unknown") < old);
    }
}
