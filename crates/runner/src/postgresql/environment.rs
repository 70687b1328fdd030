//! Names that libpq, and so programs of the PostgreSQL world, find of an arm, and what they cannot be given.

use std::path::Path;

use ciphertax_model::TlsNegotiation;

use super::clients::PostgreSql;
use crate::database::Reached;

/// The file with the password, which libpq reads if nobody else may.
pub(super) const PASSWORDS: &str = "pgpass";
/// The names of files that are not there: without them libpq would read those of the user's own.
pub(super) const NO_CA: &str = "no-root.crt";
pub(super) const NO_CERTIFICATE: &str = "no-client.crt";
pub(super) const NO_KEY: &str = "no-client.key";

/// The folder of the file whose name libpq makes of the port.
pub(super) fn socket_folder(socket: &Path) -> String {
    let folder = socket.parent().unwrap_or(Path::new("/"));
    folder.to_string_lossy().into_owned()
}

pub(super) fn is_direct(reached: &Reached<'_, PostgreSql>) -> bool {
    reached.policy.is_some() && reached.arm.tls.negotiation == TlsNegotiation::Direct
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ciphertax_base::Secret;
    use ciphertax_model::load::Placeholder;
    use ciphertax_model::{Arm, Transport};
    use ciphertax_wire::tls::{TlsPolicy, Verification};

    use super::*;
    use crate::database::{Clients as _, Endpoint};
    use crate::postgresql::clients::Login;

    fn login() -> Login {
        Login {
            user: "app".into(),
            password: Secret::new("p:#\\é"),
            database: None,
            method: None,
            method_over_tls: None,
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
