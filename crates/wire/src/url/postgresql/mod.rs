//! A PostgreSQL: `postgresql://user:password@host:port/database?sslrootcert=…`, as its own clients read it
//! (<https://www.postgresql.org/docs/current/libpq-connect.html>).

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ciphertax_base::Secret;

use super::pgpass::{Environment, Wanted};
use super::{
    TargetError, addresses, decoded, each_option, encoded, has_stray_percent, have_one_name, parts, written,
};
use crate::Protocol;
use crate::address::Address;
use crate::postgresql::{Method, Negotiation};
use crate::tls::{ClientCertificate, Verification};

/// What is expected.
pub(super) const FORM: &str = "postgresql://user:password@host:port/database";
const PORT: u16 = 5432;
/// Where PostgreSQL's own clients look for a socket; in a password file it is `localhost`.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// The file in which a system keeps the CAs that it trusts, where OpenSSL's variable `SSL_CERT_FILE` names none: Debian and
/// Alpine, Fedora and RHEL, openSUSE, FreeBSD and macOS.
const SYSTEM_CAS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
const NO_SYSTEM_CAS: &str =
    "the path of a PEM file, since this system has no CAs where others have them (package ca-certificates)";
const FILE: &str = "the path of a file";
const SECONDS: &str = "a number of seconds up to 65535, or 0 for ciphertax's own patience";

/// A server given by URL, or several that are one database: `postgresql://user:password@host:port,host2:port/database`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgreSqlTarget {
    /// Host name or address; of a Unix socket the folder that it is in.
    pub host: String,
    /// TCP port, or the number in the socket's name.
    pub port: u16,
    /// The other servers of the same database.
    pub others: Vec<Address>,
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
    /// Database; `None` for the one named like the user.
    pub database: Option<String>,
    /// How the server's certificate is verified in TLS arms.
    pub verification: Verification,
    /// The client's own certificate.
    pub client_certificate: Option<ClientCertificate>,
    /// How TLS begins; `None` where the arms say it.
    pub negotiation: Option<Negotiation>,
    /// How it logs in over TLS: SCRAM tied to the TLS session (`channel_binding=require`) or not (`disable`); `None` where
    /// the arms or the server say it.
    pub method: Option<Method>,
    /// How long a connect may take that is not measured; `None` for no word on it.
    pub connect_timeout: Option<Duration>,
    /// The file that its password was looked for in, where the URL names one.
    pub password_file: Option<PathBuf>,
    /// Settings of every session (`application_name`, `options`).
    pub settings: Vec<(String, String)>,
}

impl PostgreSqlTarget {
    /// Reads a URL that begins with `postgres://` or `postgresql://`. A password that is not in it is `password`, else that
    /// of the variable `PGPASSWORD`, else that of the password file (`PGPASSFILE` or `~/.pgpass`).
    ///
    /// # Errors
    /// Names the part that is not understood and what is expected there; never the password.
    pub fn parse(text: &str, password: Option<Secret>) -> Result<Self, TargetError> {
        Self::parse_in(text, password, &Environment::of_process())
    }

    fn parse_in(
        text: &str,
        password: Option<Secret>,
        environment: &Environment,
    ) -> Result<Self, TargetError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        if !["postgres", "postgresql"].contains(&&*scheme.to_ascii_lowercase()) {
            return Err(TargetError::Scheme(scheme.to_owned()));
        }
        let (authority, others) = parts(rest);
        if has_stray_percent(authority) {
            return Err(TargetError::NotEncoded);
        }
        let mut said = Said::default();
        said.authority(authority)?;
        let path = others.split('?').next().unwrap_or_default();
        said.database = Some(decoded(path.trim_start_matches('/'))).filter(|name| !name.is_empty());
        each_option(Protocol::PostgreSql, authority, others, |name, value| {
            said.option(name, value)
        })?;
        said.target(password, environment)
    }

    /// The server's Unix socket, an abstract one with `@` before its name; `None` where it is connected to over TCP.
    pub fn socket(&self) -> Option<PathBuf> {
        let is_folder = self.host.starts_with(['/', '@']);
        is_folder.then(|| Path::new(&self.host).join(format!(".s.PGSQL.{}", self.port)))
    }

    /// Where the first of them listens: `host:port` with brackets around an IPv6 address, or the path of its Unix socket.
    pub fn address(&self) -> String {
        match self.socket() {
            Some(socket) => socket.display().to_string(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }

    /// The target as a URL with its options and without its password.
    pub fn url(&self) -> String {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut options = Vec::new();
        match &self.verification {
            Verification::None => {}
            Verification::Ca(ca) => options.push(("sslrootcert", text(ca))),
            Verification::HostName(ca, _) => {
                options.extend([("sslmode", "verify-full".to_owned()), ("sslrootcert", text(ca))]);
            }
        }
        if let Some(client) = &self.client_certificate {
            options.extend([
                ("sslcert", text(&client.certificate)),
                ("sslkey", text(&client.key)),
            ]);
        }
        if let Some(negotiation) = self.negotiation {
            let name = match negotiation {
                Negotiation::Request => "postgres",
                Negotiation::Direct => "direct",
            };
            options.push(("sslnegotiation", name.to_owned()));
        }
        if let Some(method) = self.method {
            let is_bound = method == Method::ScramSha256Plus;
            let binding = if is_bound { "require" } else { "disable" };
            options.push(("channel_binding", binding.to_owned()));
        }
        if let Some(timeout) = self.connect_timeout {
            options.push(("connect_timeout", timeout.as_secs().to_string()));
        }
        if let Some(file) = &self.password_file {
            options.push(("passfile", text(file)));
        }
        let settings = self.settings.iter();
        options.extend(settings.map(|(name, value)| (name.as_str(), value.clone())));
        let options: Vec<String> = options
            .into_iter()
            .map(|(name, value)| format!("{name}={}", encoded(&value)))
            .collect();
        match options.is_empty() {
            true => self.to_string(),
            false => format!("{self}?{}", options.join("&")),
        }
    }
}

/// The target as a URL without its password and options.
impl fmt::Display for PostgreSqlTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgresql://{}@", encoded(&self.user))?;
        match self.socket() {
            Some(_) => write!(f, "{}:{}/", encoded(&self.host), self.port)?,
            None => write!(f, "{}/", written(&self.host, self.port, &self.others))?,
        }
        match &self.database {
            Some(database) => write!(f, "{}", encoded(database)),
            None => Ok(()),
        }
    }
}

/// What a URL says, before it is known whether that is a target.
#[derive(Default)]
struct Said {
    host: Option<String>,
    port: Option<u16>,
    others: Vec<Address>,
    user: Option<String>,
    password: Option<Secret>,
    database: Option<String>,
    mode: Option<String>,
    ca: Option<PathBuf>,
    /// True for the system's CAs, which anybody may have a certificate of.
    is_system_ca: bool,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    key_password: Option<Secret>,
    negotiation: Option<Negotiation>,
    method: Option<Method>,
    connect_timeout: Option<Duration>,
    password_file: Option<PathBuf>,
    settings: Vec<(String, String)>,
}

impl Said {
    /// `user:password@host:port`, of which everything may be missing.
    fn authority(&mut self, authority: &str) -> Result<(), TargetError> {
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (login, host),
            None => ("", authority),
        };
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        self.user = Some(decoded(user)).filter(|user| !user.is_empty());
        self.password = password.map(decoded).map(Secret::new);
        let host = match host.split_once(',') {
            Some((first, others)) => {
                // A Unix socket is that of one server.
                if first.is_empty() || decoded(first).starts_with(['/', '@']) {
                    return Err(TargetError::Hosts);
                }
                self.others = addresses(others, PORT)?;
                first
            }
            None => host,
        };
        // The last colon, unless it is one of an address in brackets.
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (host, ""),
        };
        if !port.is_empty() {
            self.port = Some(port.parse().map_err(|_| TargetError::Hosts)?);
        }
        let host = match host.strip_prefix('[') {
            Some(address) => address.strip_suffix(']').ok_or(TargetError::Hosts)?,
            None if host.contains([':', ']']) => return Err(TargetError::Hosts),
            None => host,
        };
        self.host = Some(decoded(host)).filter(|host| !host.is_empty());
        Ok(())
    }

    fn option(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        let wrong = |expected| TargetError::Value {
            name: name.to_owned(),
            value: value.clone(),
            expected,
        };
        let file = || match value.is_empty() {
            true => Err(wrong(FILE)),
            false => Ok(Some(PathBuf::from(&value))),
        };
        match (name, value.as_str()) {
            ("sslmode", "prefer" | "allow") => {
                return Err(TargetError::Preferred(format!("{name}={value}")));
            }
            ("sslmode", "disable") => return Err(TargetError::Disabled(format!("{name}={value}"))),
            ("sslmode", "require" | "verify-ca" | "verify-full") => self.mode = Some(value),
            ("sslmode", _) => return Err(wrong("require, verify-ca or verify-full")),
            ("sslrootcert", "system") => {
                let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
                let mut files = named.into_iter().chain(SYSTEM_CAS.map(PathBuf::from));
                let file = files.find(|file| file.is_file());
                self.ca = Some(file.ok_or_else(|| wrong(NO_SYSTEM_CAS))?);
                self.is_system_ca = true;
            }
            ("sslrootcert", _) => self.ca = file()?,
            ("sslcert", _) => self.certificate = file()?,
            ("sslkey", _) => self.key = file()?,
            ("sslpassword", _) => self.key_password = Some(Secret::new(value)),
            ("sslnegotiation", "postgres") => self.negotiation = Some(Negotiation::Request),
            ("sslnegotiation", "direct") => self.negotiation = Some(Negotiation::Direct),
            ("sslnegotiation", _) => return Err(wrong("postgres or direct")),
            ("channel_binding", "require") => self.method = Some(Method::ScramSha256Plus),
            ("channel_binding", "disable") => self.method = Some(Method::ScramSha256),
            ("channel_binding", "prefer") => self.method = None,
            ("channel_binding", _) => return Err(wrong("require, prefer or disable")),
            ("connect_timeout", seconds) => {
                let seconds: u16 = seconds.parse().map_err(|_| wrong(SECONDS))?;
                self.connect_timeout =
                    Some(Duration::from_secs(seconds.into())).filter(|time| !time.is_zero());
            }
            // What ciphertax does by itself: it needs data of its own, so it refuses a server that takes no writes.
            ("target_session_attrs", "any" | "primary" | "read-write") | ("gssencmode", "disable") => {}
            ("target_session_attrs", _) => return Err(wrong("primary, read-write or any")),
            ("gssencmode", _) => return Err(wrong("disable")),
            ("passfile", _) => self.password_file = file()?,
            ("application_name" | "options", _) => self.settings.push((name.to_owned(), value)),
            ("host", host) if host.contains(',') => return Err(TargetError::HostsByOption),
            // The folder of a Unix socket goes before the host, as in libpq.
            ("host", host)
                if self.others.is_empty() && (self.host.is_none() || host.starts_with(['/', '@'])) =>
            {
                self.host = Some(value);
            }
            ("host", _) => {
                return Err(wrong(
                    "no second host, but for the folder of a Unix socket, from / on, or from @ on where it is abstract",
                ));
            }
            ("port", port) if self.port.is_none() => {
                self.port = Some(port.parse().map_err(|_| wrong("a port"))?);
            }
            ("port", _) => return Err(wrong("no second port")),
            ("user", _) if self.user.is_none() => self.user = Some(value),
            ("dbname", _) if self.database.is_none() => self.database = Some(value),
            ("user" | "dbname", _) => return Err(wrong("none, since it is there already")),
            _ => self.password = Some(Secret::new(value)),
        }
        Ok(())
    }

    fn target(
        self,
        password: Option<Secret>,
        environment: &Environment,
    ) -> Result<PostgreSqlTarget, TargetError> {
        let host = self.host.clone().ok_or_else(|| missing("host"))?;
        let user = self.user.clone().ok_or_else(|| missing("user"))?;
        let port = self.port.unwrap_or(PORT);
        let verification = self.verification(&host)?;
        let instead = "say sslmode=verify-ca, which still verifies them against sslrootcert";
        have_one_name(&verification, &self.others, instead)?;
        let client_certificate = ClientCertificate::of_files(self.certificate, self.key, self.key_password);
        let client_certificate = client_certificate.ok_or(TargetError::Missing {
            part: "second file of the client's certificate",
            expected: "sslcert=/path/to/client.crt&sslkey=/path/to/client.key",
        })?;
        let password = match self.password.or(password) {
            Some(password) => password,
            None => {
                let wanted = Wanted {
                    host: if SOCKET_FOLDERS.contains(&host.as_str()) {
                        "localhost"
                    } else {
                        &host
                    },
                    port,
                    database: self.database.as_deref().unwrap_or(&user),
                    user: &user,
                };
                let environment = match &self.password_file {
                    Some(file) => &environment.with_file(file),
                    None => environment,
                };
                environment.password(wanted)?.unwrap_or_default()
            }
        };
        Ok(PostgreSqlTarget {
            host,
            port,
            others: self.others,
            user,
            password,
            database: self.database,
            verification,
            client_certificate,
            negotiation: self.negotiation,
            method: self.method,
            connect_timeout: self.connect_timeout,
            password_file: self.password_file,
            settings: self.settings,
        })
    }

    /// `require` verifies what it is given to verify by, as PostgreSQL's own clients do.
    fn verification(&self, host: &str) -> Result<Verification, TargetError> {
        match (self.mode.as_deref(), &self.ca) {
            (None | Some("verify-full"), Some(ca)) if self.is_system_ca => {
                Ok(Verification::HostName(ca.clone(), host.to_owned()))
            }
            (Some(mode), Some(_)) if self.is_system_ca => Err(TargetError::Value {
                name: "sslmode".into(),
                value: mode.into(),
                expected: "verify-full, or to leave it out, since sslrootcert=system verifies the host's name",
            }),
            (None | Some("require"), None) => Ok(Verification::None),
            (Some("verify-full"), Some(ca)) => Ok(Verification::HostName(ca.clone(), host.to_owned())),
            (_, Some(ca)) => Ok(Verification::Ca(ca.clone())),
            (Some(_), None) => Err(TargetError::Missing {
                part: "CA to verify by",
                expected: "sslrootcert=/path/to/ca.pem with sslmode=verify-ca or verify-full",
            }),
        }
    }
}

fn missing(part: &'static str) -> TargetError {
    TargetError::Missing { part, expected: FORM }
}

/// libpq's parameters (<https://www.postgresql.org/docs/current/libpq-connect.html>) that are read.
pub(super) const KNOWN: &[&str] = &[
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "gssencmode",
    "host",
    "options",
    "passfile",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "target_session_attrs",
    "user",
];
