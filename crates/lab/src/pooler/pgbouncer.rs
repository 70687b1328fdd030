//! PgBouncer: its settings, whom it knows, and how they log in. It knows accounts by what the server keeps of their passwords.

use std::ffi::OsString;

use ciphertax_base::Secret;
use ciphertax_model::{TlsVersion, Transport};
use ciphertax_supervise::guard::Ending;

use super::{Place, PoolerKind, Start, Version};
use crate::accounts::Account;
use crate::error::Result;
use crate::postgresql::DATABASE;
use crate::postgresql::accounts::hba_method;

/// Statements that it remembers of each connection.
const PREPARED_STATEMENTS: u32 = 1000;

/// What it is always started with: nothing runs out, nothing is written down for every connection, and startup
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

/// Since this, SIGTERM waits for clients.
const WAITS_FOR_CLIENTS: Version = Version(1, 23);

/// Since this, it knows which statements a client has prepared.
const KEEPS_PREPARED_STATEMENTS: Version = Version(1, 21);

pub(super) struct PgBouncer;

impl PoolerKind for PgBouncer {
    fn package(&self) -> Option<&'static str> {
        Some("pgbouncer")
    }

    /// `PgBouncer 1.18.0`
    fn version_mark(&self) -> &'static str {
        "PgBouncer "
    }

    fn keeps_prepared_statements(&self, version: Version) -> bool {
        version >= KEEPS_PREPARED_STATEMENTS
    }

    fn ending(&self, version: Version) -> Ending {
        if version >= WAITS_FOR_CLIENTS {
            Ending::Quit
        } else {
            Ending::Terminate
        }
    }

    fn facts(&self, start: &Start) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("pool_mode", start.pooler.pool_mode.name().to_owned()),
            ("default_pool_size", start.pool_size().to_string()),
        ];
        settings.extend(of_tls(
            start.transport,
            ["client_tls_sslmode", "client_tls_protocols", "client_tls_ciphers"],
            "require",
        ));
        settings.extend(of_tls(
            start.pooler.server_transport,
            ["server_tls_sslmode", "server_tls_protocols", "server_tls_ciphers"],
            "verify-full",
        ));
        if start.release.keeps_prepared_statements() {
            settings.push(("max_prepared_statements", PREPARED_STATEMENTS.to_string()));
        }
        settings
    }

    fn prepare(&self, start: &Start, place: &Place<'_>) -> Result<Vec<OsString>> {
        let known: String = start.accounts.iter().map(known).collect();
        let logins: String = start.accounts.iter().map(login).collect();
        let files = [
            ("listen_addr", place.listen.ip().to_string()),
            ("listen_port", place.listen.port().to_string()),
            ("auth_file", place.write("accounts.txt", &known)?),
            ("auth_hba_file", place.write("hba.conf", &logins)?),
        ];
        let lines: String = files
            .into_iter()
            .chain(SETTINGS.map(|(name, value)| (name, value.to_owned())))
            .chain(certificates(start))
            .chain(self.facts(start))
            .map(|(name, value)| format!("{name} = {value}\n"))
            .collect();
        let port = place.server_port;
        let text = format!("[databases]\n{DATABASE} = host=127.0.0.1 port={port}\n[pgbouncer]\n{lines}");
        Ok(vec![place.write("pgbouncer.ini", &text)?.into()])
    }
}

fn certificates(start: &Start) -> Vec<(&'static str, String)> {
    let Some(files) = &start.tls else {
        return Vec::new();
    };
    let mut settings = Vec::new();
    if start.transport.is_encrypted() {
        settings.push(("client_tls_cert_file", files.certificate.display().to_string()));
        settings.push(("client_tls_key_file", files.key.display().to_string()));
    }
    if start.pooler.server_transport.is_encrypted() {
        settings.push(("server_tls_ca_file", files.ca.display().to_string()));
    }
    settings
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
fn login(account: &Account) -> String {
    let method = hba_method(account.method);
    format!("host {DATABASE} {} 0.0.0.0/0 {method}\n", account.user)
}

#[cfg(test)]
mod tests {
    use ciphertax_model::AuthenticationMethod;

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
        let found = login(&account);
        assert_eq!(found, format!("host {DATABASE} a 0.0.0.0/0 scram-sha-256\n"));
    }

    #[test]
    fn newer_releases_wait_for_clients_and_keep_statements() {
        let of = |version| {
            let version = Version::parse(version);
            (
                PgBouncer.ending(version),
                PgBouncer.keeps_prepared_statements(version),
            )
        };
        assert_eq!(of("1.18.0\n"), (Ending::Terminate, false));
        assert_eq!(of("1.25.1"), (Ending::Quit, true));
        assert_eq!(of("unknown"), (Ending::Terminate, false));
    }
}
