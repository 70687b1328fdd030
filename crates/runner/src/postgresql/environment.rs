//! What programs of the PostgreSQL world find of an arm: a URL, and the variables and files that libpq reads.

use std::path::Path;

use ciphertax_model::{TlsNegotiation, TlsVersion};
use ciphertax_workload::dataset::SCHEMA;

use super::clients::PostgreSql;
use crate::database::{Programs, Reached, encoded};
use crate::error::RunError;

/// The file with the password, which libpq reads if nobody else may.
const PASSWORDS: &str = "pgpass";
/// The names of files that are not there: without them libpq would read those of the user's own.
const NO_CA: &str = "no-root.crt";
const NO_CERTIFICATE: &str = "no-client.crt";
const NO_KEY: &str = "no-client.key";

/// The folder of the file whose name libpq makes of the port.
fn socket_folder(socket: &Path) -> String {
    let folder = socket.parent().unwrap_or(Path::new("/"));
    folder.to_string_lossy().into_owned()
}

impl Programs for PostgreSql {
    const PROGRAMS_READ: &'static str = "the variables that libpq reads (PGHOST, PGSSLMODE …)";

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
        let mut options = vec![("options", format!("-csearch_path={SCHEMA}"))];
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
    /// (<https://www.postgresql.org/docs/current/libpq-envars.html>). The password is in a file.
    fn variables(reached: &Reached<'_, Self>) -> Vec<(String, String)> {
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
            ("PGOPTIONS", format!("-csearch_path={SCHEMA}")),
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
        let said = variables.into_iter().filter(|(_, value)| !value.is_empty());
        said.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The file with the password.
    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>, RunError> {
        let password = reached.login.password.expose();
        let escaped = password.replace('\\', "\\\\").replace(':', "\\:");
        Ok(vec![(PASSWORDS, format!("*:*:*:*:{escaped}\n").into_bytes())])
    }
}

fn is_direct(reached: &Reached<'_, PostgreSql>) -> bool {
    reached.policy.is_some() && reached.arm.tls.negotiation == TlsNegotiation::Direct
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ciphertax_model::load::Placeholder;
    use ciphertax_model::{Arm, Secret, Transport};
    use ciphertax_wire::tls::{TlsPolicy, Verification};

    use super::*;
    use crate::database::Endpoint;
    use crate::postgresql::clients::Login;

    fn login() -> Login {
        Login {
            user: "app".into(),
            password: Secret::new("p:#\\é"),
            database: None,
            method: None,
            method_over_tls: None,
            settings: Vec::new(),
            connect_timeout: None,
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
            "postgresql://app:p%3A%23%5C%C3%A9@[::1]:5433/app?sslmode=disable&options=%2Dcsearch%5Fpath%3Dciphertax"
        );
    }

    #[test]
    fn libpq_is_told_of_a_tls_arm_and_finds_the_password_in_a_file() {
        let mut arm = Arm::new("tls", Transport::Tls13);
        arm.tls.negotiation = TlsNegotiation::Direct;
        let (endpoint, login) = (Endpoint::new("127.0.0.1", 5433), login());
        let policy = TlsPolicy::new(None, Verification::HostName("/ca.pem".into(), "127.0.0.1".into()));
        let reached = reached(&arm, &endpoint, &login, Some(&policy));
        let variables: BTreeMap<String, String> = PostgreSql::variables(&reached).into_iter().collect();
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
    fn a_plaintext_arm_says_nothing_of_tls() {
        let arm = Arm::new("plain", Transport::Plain);
        let (endpoint, login) = (Endpoint::new("127.0.0.1", 5433), login());
        let variables: BTreeMap<String, String> =
            PostgreSql::variables(&reached(&arm, &endpoint, &login, None))
                .into_iter()
                .collect();
        assert_eq!(variables["PGSSLMODE"], "disable");
        assert!(!variables.contains_key("PGSSLNEGOTIATION"));
        assert!(!variables.contains_key("PGSSLMINPROTOCOLVERSION"));
    }
}
