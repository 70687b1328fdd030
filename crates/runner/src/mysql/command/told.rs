//! What a program is told of an arm: its environment, its files, and what its arguments leave open.

use std::path::Path;

use ciphertax_model::command::{Part, Placeholder, parts};
use ciphertax_model::{Arm, Command};
use ciphertax_supervise::PrivateFiles;
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_wire::tls::{TlsPolicy, Verification};
use ciphertax_workload::dataset;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::RunError;

/// What a program is told of an arm.
pub(super) struct Told {
    /// The program and its arguments.
    pub(super) line: Vec<String>,
    /// Names and values.
    pub(super) environment: Vec<(String, String)>,
}

/// Begins the name of every variable.
const PREFIX: &str = "CIPHERTAX_";

/// The names of the files in an arm's folder. Those of certificates are where sysbench 1.0 looks for them.
const MY_CNF: &str = "my.cnf";
const SYSBENCH_CNF: &str = "sysbench.cnf";
const SYSBENCH_CA: &str = "cacert.pem";
const SYSBENCH_CERTIFICATE: &str = "client-cert.pem";
const SYSBENCH_KEY: &str = "client-key.pem";

impl Told {
    /// Writes the arm's files into `folder` of `files`, and says all there is to say.
    pub(super) fn of(
        command: &Command,
        arm: &Arm,
        (options, policy): &(ConnectOptions, Option<TlsPolicy>),
        files: &PrivateFiles,
        folder: &str,
    ) -> Result<Self, RunError> {
        let access = Access {
            arm,
            options,
            policy: policy.as_ref(),
            folder: files.folder().join(folder).to_string_lossy().into_owned(),
        };
        access.write_files(files, folder)?;
        let named = Placeholder::ALL.map(|one| (one.name().to_uppercase(), access.value(one)));
        let secret = [
            ("PASSWORD".to_owned(), options.password.expose().to_owned()),
            ("URL".to_owned(), access.url()),
        ];
        let named = named.into_iter().chain(secret);
        Ok(Self {
            line: command.run.iter().map(|word| access.filled_in(word)).collect(),
            environment: named
                .map(|(name, value)| (format!("{PREFIX}{name}"), value))
                .collect(),
        })
    }
}

/// How an arm is reached, in words.
struct Access<'a> {
    arm: &'a Arm,
    options: &'a ConnectOptions,
    policy: Option<&'a TlsPolicy>,
    folder: String,
}

impl Access<'_> {
    fn value(&self, of: Placeholder) -> String {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let client = self.policy.and_then(|policy| policy.client_certificate.as_ref());
        let text = match of {
            Placeholder::Arm => Some(self.arm.name.clone()),
            Placeholder::Host => Some(self.host().to_owned()),
            Placeholder::Port => Some(self.options.port.to_string()),
            Placeholder::Socket => self.options.socket.as_deref().map(path),
            Placeholder::User => Some(self.options.user.clone()),
            Placeholder::Database => Some(dataset::SCHEMA.to_owned()),
            Placeholder::SslMode => Some(self.ssl_mode().to_owned()),
            Placeholder::SslCa => self.ca().map(path),
            Placeholder::SslCert => client.map(|client| path(&client.certificate)),
            Placeholder::SslKey => client.map(|client| path(&client.key)),
            Placeholder::TlsVersion => {
                let version = self.arm.transport.tls_version();
                version.map(|version| version.name().to_owned())
            }
            Placeholder::Cipher => self.arm.tls.cipher.clone(),
            Placeholder::Folder => Some(self.folder.clone()),
            Placeholder::MyCnf => Some(format!("{}/{MY_CNF}", self.folder)),
            Placeholder::SysbenchCnf => Some(format!("{}/{SYSBENCH_CNF}", self.folder)),
        };
        text.unwrap_or_default()
    }

    fn filled_in(&self, word: &str) -> String {
        let parts = parts(word).unwrap_or_default();
        let text = |part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Placeholder(placeholder) => self.value(placeholder),
        };
        parts.into_iter().map(text).collect()
    }

    /// MySQL's clients take `localhost` for "over the socket".
    fn host(&self) -> &str {
        match self.options.socket {
            Some(_) => "localhost",
            None => &self.options.host,
        }
    }

    fn ca(&self) -> Option<&Path> {
        match &self.policy?.verification {
            Verification::None => None,
            Verification::Ca(ca) | Verification::HostName(ca, _) => Some(ca),
        }
    }

    fn ssl_mode(&self) -> &'static str {
        match self.policy.map(|policy| &policy.verification) {
            None => "DISABLED",
            Some(Verification::None) => "REQUIRED",
            // A program verifies the name that it connects to, and no other.
            Some(Verification::HostName(_, name)) if *name == self.options.host => "VERIFY_IDENTITY",
            Some(Verification::Ca(_) | Verification::HostName(..)) => "VERIFY_CA",
        }
    }

    /// `mysql://user:password@host:port/schema?ssl-mode=…`
    fn url(&self) -> String {
        let host = match self.host() {
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let mut url = format!(
            "mysql://{}:{}@{host}:{}/{}?ssl-mode={}",
            encoded(&self.options.user),
            encoded(self.options.password.expose()),
            self.options.port,
            dataset::SCHEMA,
            self.ssl_mode()
        );
        for (name, placeholder) in [
            ("ssl-ca", Placeholder::SslCa),
            ("ssl-cert", Placeholder::SslCert),
            ("ssl-key", Placeholder::SslKey),
            ("tls-version", Placeholder::TlsVersion),
            ("socket", Placeholder::Socket),
        ] {
            let value = self.value(placeholder);
            if !value.is_empty() {
                url.push_str(&format!("&{name}={}", encoded(&value)));
            }
        }
        url
    }

    fn write_files(&self, files: &PrivateFiles, folder: &str) -> Result<(), RunError> {
        let write = |name: &str, contents: &[u8]| files.write(Path::new(folder).join(name), contents);
        write(MY_CNF, self.my_cnf().as_bytes())?;
        write(SYSBENCH_CNF, self.sysbench_cnf().as_bytes())?;
        let client = self.policy.and_then(|policy| policy.client_certificate.as_ref());
        let copies = [
            (SYSBENCH_CA, self.ca()),
            (
                SYSBENCH_CERTIFICATE,
                client.map(|client| client.certificate.as_path()),
            ),
            (SYSBENCH_KEY, client.map(|client| client.key.as_path())),
        ];
        for (name, from) in copies {
            if let Some(from) = from {
                let contents = std::fs::read(from).map_err(|error| RunError::Server {
                    server: self.arm.name.clone(),
                    problem: format!("{} cannot be read: {error}", from.display()),
                })?;
                write(name, &contents)?;
            }
        }
        Ok(())
    }

    /// For all of MySQL's and MariaDB's programs. They share no option that makes TLS compulsory, so each family has its
    /// own: `[client-mariadb]` is read by MariaDB's alone, and of unknown options that are `loose` MariaDB's only warn.
    fn my_cnf(&self) -> String {
        let mut client = vec![
            ("host", self.value(Placeholder::Host)),
            ("port", self.value(Placeholder::Port)),
            ("user", self.value(Placeholder::User)),
            ("password", self.options.password.expose().to_owned()),
            ("socket", self.value(Placeholder::Socket)),
        ];
        client.push(("loose-ssl-mode", self.value(Placeholder::SslMode)));
        let mut mariadb = "skip-ssl\n";
        if self.policy.is_some() {
            client.extend([
                ("ssl-ca", self.value(Placeholder::SslCa)),
                ("ssl-cert", self.value(Placeholder::SslCert)),
                ("ssl-key", self.value(Placeholder::SslKey)),
                ("tls-version", self.value(Placeholder::TlsVersion)),
                ("ssl-cipher", self.value(Placeholder::Cipher)),
            ]);
            mariadb = match self.ssl_mode() {
                "VERIFY_IDENTITY" => "ssl\nssl-verify-server-cert\n",
                _ => "ssl\nskip-ssl-verify-server-cert\n",
            };
        }
        let lines = client.iter().filter(|(_, value)| !value.is_empty());
        let lines: String = lines
            .map(|(name, value)| format!("{name}={}\n", quoted(value)))
            .collect();
        let schema = dataset::SCHEMA;
        format!("[client]\n{lines}\n[client-mariadb]\n{mariadb}\n[mysql]\ndatabase={schema}\n")
    }

    /// TLS is left out where it is not wanted: sysbench 1.0.20 takes `mysql-ssl=off` in a file for `on`.
    fn sysbench_cnf(&self) -> String {
        let mut lines = vec![
            ("db-driver", "mysql".to_owned()),
            ("mysql-host", self.value(Placeholder::Host)),
            ("mysql-port", self.value(Placeholder::Port)),
            ("mysql-user", self.value(Placeholder::User)),
            ("mysql-password", self.options.password.expose().to_owned()),
            ("mysql-db", self.value(Placeholder::Database)),
            ("mysql-socket", self.value(Placeholder::Socket)),
        ];
        if self.policy.is_some() {
            lines.push(("mysql-ssl", "on".to_owned()));
        }
        let lines = lines.into_iter().filter(|(_, value)| !value.is_empty());
        lines.map(|(name, value)| format!("{name}={value}\n")).collect()
    }
}

/// Text as a part of a URL.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
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
    use ciphertax_model::{Secret, Transport};

    use super::*;

    fn access<'a>(arm: &'a Arm, options: &'a ConnectOptions, policy: Option<&'a TlsPolicy>) -> Access<'a> {
        Access {
            arm,
            options,
            policy,
            folder: "/tmp/f".into(),
        }
    }

    fn options(host: &str) -> ConnectOptions {
        ConnectOptions::new(host, 3307, "app", Secret::new("p#\"w\\:d/é"))
    }

    #[test]
    fn a_url_holds_whatever_a_password_holds() {
        let (plain, tls) = (
            Arm::new("plain", Transport::Plain),
            Arm::new("tls", Transport::Tls12),
        );
        let options = options("::1");
        let url = access(&plain, &options, None).url();
        let (_, rest) = url.split_once("mysql://app:").unwrap();
        assert_eq!(
            rest,
            "p%23%22w%5C%3Ad%2F%C3%A9@[::1]:3307/ciphertax?ssl-mode=DISABLED"
        );
        let policy = TlsPolicy::new(None, Verification::HostName("/ca.pem".into(), "db".into()));
        let url = access(&tls, &options, Some(&policy)).url();
        assert!(
            url.ends_with("?ssl-mode=VERIFY_CA&ssl-ca=%2Fca%2Epem&tls-version=TLSv1%2E2"),
            "{url}"
        );
    }

    #[test]
    fn arguments_are_filled_in_and_never_with_the_password() {
        let arm = Arm::new("plain", Transport::Plain);
        let options = options("127.0.0.1");
        let access = access(&arm, &options, None);
        for one in Placeholder::ALL {
            assert!(!access.value(one).contains("w\\:d"), "{one:?}");
        }
        assert_eq!(
            access.filled_in("--defaults-file={my_cnf} ${x} {host}:{port}"),
            "--defaults-file=/tmp/f/my.cnf ${x} 127.0.0.1:3307"
        );
    }

    #[test]
    fn sysbench_is_told_of_tls_only_where_it_is_wanted() {
        let arm = Arm::new("arm", Transport::Plain);
        let options = options("127.0.0.1");
        assert!(!access(&arm, &options, None).sysbench_cnf().contains("ssl"));
        let policy = TlsPolicy::new(None, Verification::None);
        let text = access(&arm, &options, Some(&policy)).sysbench_cnf();
        assert!(text.contains("mysql-ssl=on\n"), "{text}");
    }
}
