//! The option files that programs of the MySQL world find of an arm.

use ciphertax_model::load::Placeholder;
use ciphertax_workload::dataset;

use super::clients::MySql;
use crate::database::Reached;

/// Certificates are where sysbench 1.0 looks for them.
pub(super) const SYSBENCH_CA: &str = "cacert.pem";
pub(super) const SYSBENCH_CERTIFICATE: &str = "client-cert.pem";
pub(super) const SYSBENCH_KEY: &str = "client-key.pem";

/// For all of MySQL's and MariaDB's programs. They share no option that makes TLS compulsory, so each product has its
/// own: `[client-mariadb]` is read by MariaDB's alone, and of unknown options that are `loose` MariaDB's only warn.
pub(super) fn my_cnf(reached: &Reached<'_, MySql>) -> String {
    let mut client = vec![
        ("host", reached.value(Placeholder::Host)),
        ("port", reached.value(Placeholder::Port)),
        ("user", reached.value(Placeholder::User)),
        ("password", reached.login.password.expose().to_owned()),
        ("socket", reached.value(Placeholder::Socket)),
    ];
    client.push(("loose-ssl-mode", reached.value(Placeholder::SslMode)));
    let mut mariadb = "skip-ssl\n";
    if reached.policy.is_some() {
        client.extend([
            ("ssl-ca", reached.value(Placeholder::SslCa)),
            ("ssl-cert", reached.value(Placeholder::SslCert)),
            ("ssl-key", reached.value(Placeholder::SslKey)),
            ("tls-version", reached.value(Placeholder::TlsVersion)),
            ("ssl-cipher", reached.value(Placeholder::Cipher)),
        ]);
        mariadb = match reached.ssl_mode() {
            "VERIFY_IDENTITY" => "ssl\nssl-verify-server-cert\n",
            _ => "ssl\nskip-ssl-verify-server-cert\n",
        };
    }
    let lines = client.iter().filter(|(_, value)| !value.is_empty());
    let lines: String = lines
        .map(|(name, value)| format!("{name}={}\n", quoted(value)))
        .collect();
    let schema = &*dataset::SCHEMA;
    format!("[client]\n{lines}\n[client-mariadb]\n{mariadb}\n[mysql]\ndatabase={schema}\n")
}

/// TLS is left out where it is not wanted: sysbench 1.0.20 takes `mysql-ssl=off` in a file for `on`.
pub(super) fn sysbench_cnf(reached: &Reached<'_, MySql>) -> String {
    let mut lines = vec![
        ("db-driver", "mysql".to_owned()),
        ("mysql-host", reached.value(Placeholder::Host)),
        ("mysql-port", reached.value(Placeholder::Port)),
        ("mysql-user", reached.value(Placeholder::User)),
        ("mysql-password", reached.login.password.expose().to_owned()),
        ("mysql-db", reached.value(Placeholder::Database)),
        ("mysql-socket", reached.value(Placeholder::Socket)),
    ];
    if reached.policy.is_some() {
        lines.push(("mysql-ssl", "on".to_owned()));
    }
    let lines = lines.into_iter().filter(|(_, value)| !value.is_empty());
    lines.map(|(name, value)| format!("{name}={value}\n")).collect()
}

/// A value as option files take it (`my_search_option_files` of both families).
fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    for char in value.chars() {
        match char {
            '\\' => text.push_str(r"\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str(r"\n"),
            '\r' => text.push_str(r"\r"),
            '\t' => text.push_str(r"\t"),
            other => text.push(other),
        }
    }
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use ciphertax_base::Secret;
    use ciphertax_model::{Arm, Transport};
    use ciphertax_wire::tls::{TlsPolicy, Verification};

    use super::*;
    use crate::database::{Clients as _, Endpoint};
    use crate::mysql::clients::{Keys, Login};

    fn login() -> Login {
        Login {
            user: "app".into(),
            password: Secret::new("p#\"w\\:d/é"),
            schema: None,
            keys: Keys::ThisMachine,
        }
    }

    #[test]
    fn a_url_holds_whatever_a_password_holds() {
        let (plain, tls) = (
            Arm::new("plain", Transport::Plain),
            Arm::new("tls", Transport::Tls12),
        );
        let (endpoint, login) = (Endpoint::new("::1", 3307), login());
        let text = MySql::url(&Reached::made_up(&plain, &endpoint, &login, None));
        let (_, rest) = text.split_once("mysql://app:").unwrap();
        assert_eq!(
            rest,
            "p%23%22w%5C%3Ad%2F%C3%A9@[::1]:3307/ciphertax?ssl-mode=DISABLED"
        );
        let policy = TlsPolicy::new(None, Verification::HostName("/ca.pem".into(), "db".into()));
        let text = MySql::url(&Reached::made_up(&tls, &endpoint, &login, Some(&policy)));
        let is_told = text.ends_with("?ssl-mode=VERIFY_CA&ssl-ca=%2Fca%2Epem&tls-version=TLSv1%2E2");
        assert!(is_told, "{text}");
    }

    #[test]
    fn arguments_are_filled_in_and_never_with_the_password() {
        let arm = Arm::new("plain", Transport::Plain);
        let (endpoint, login) = (Endpoint::new("127.0.0.1", 3307), login());
        let reached = Reached::<MySql>::made_up(&arm, &endpoint, &login, None);
        for one in Placeholder::ALL {
            assert!(!reached.value(one).contains("w\\:d"), "{one:?}");
        }
        let found = reached.filled_in("--defaults-file={my_cnf} ${x} {host}:{port}");
        assert_eq!(found, "--defaults-file=/tmp/f/my.cnf ${x} 127.0.0.1:3307");
    }

    #[test]
    fn sysbench_hears_of_tls_only_where_it_is_wanted() {
        let arm = Arm::new("arm", Transport::Plain);
        let (endpoint, login) = (Endpoint::new("127.0.0.1", 3307), login());
        let without = sysbench_cnf(&Reached::made_up(&arm, &endpoint, &login, None));
        assert!(!without.contains("ssl"));
        let policy = TlsPolicy::new(None, Verification::None);
        let text = sysbench_cnf(&Reached::made_up(&arm, &endpoint, &login, Some(&policy)));
        assert!(text.contains("mysql-ssl=on\n"), "{text}");
    }
}
