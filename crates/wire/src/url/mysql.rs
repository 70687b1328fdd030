//! Servers that speak MySQL's protocol: `mysql://user:password@host:port/?ssl-ca=…`

use std::fmt;
use std::path::{Path, PathBuf};

use ciphertax_base::Secret;
use url::Url;

use super::{TargetError, addresses, and_others, decoded, encoded, has_stray_percent, have_one_name, parts};
use crate::address::Address;
use crate::tls::Verification;

pub(super) const FORM: &str = "mysql://user:password@host:port/";
/// The options, by the names that MySQL's own clients use.
const KNOWN: &[&str] = &[
    "get-server-public-key",
    "server-public-key-path",
    "socket",
    "ssl-ca",
    "ssl-mode",
];
/// Hosts by which MySQL's clients mean this machine, which a Unix socket is on.
const THIS_MACHINE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const PORT: u16 = 3306;
const MODES: &str = "REQUIRED, VERIFY_CA or VERIFY_IDENTITY";

/// A server given by URL, or several that are one database: `mysql://user:password@host:port,host2:port/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MySqlTarget {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The other servers of the same database.
    pub others: Vec<Address>,
    /// The server's Unix socket, which is then connected over instead of TCP.
    pub socket: Option<PathBuf>,
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
    /// The schema that sessions begin in; `None` for none.
    pub schema: Option<String>,
    /// How the server's certificate is verified in TLS arms.
    pub verification: Verification,
    /// Whose key may encrypt the password without TLS; `None` where the URL says nothing of it.
    pub public_key: Option<PublicKey>,
}

/// Whose key may encrypt the password without TLS, by the options of MySQL's own clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// That of whoever answers (`get-server-public-key=true`).
    Anybodys,
    /// The one in this PEM file (`server-public-key-path`).
    File(PathBuf),
}

impl MySqlTarget {
    pub(super) fn parse(text: &str, password: Option<Secret>) -> Result<Self, TargetError> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let (authority, others) = parts(rest);
        // A reserved character in a password ends the authority too early: what seems to follow is a part of it.
        if others.contains('@') || has_stray_percent(authority) {
            return Err(TargetError::NotEncoded);
        }
        let (first, others) = of_several(text, authority)?;
        let url = Url::parse(&first).map_err(|error| TargetError::NotAUrl(error.to_string()))?;
        if !matches!(url.scheme(), "mysql" | "mariadb") {
            return Err(TargetError::Scheme(url.scheme().to_owned()));
        }
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| missing("host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if url.username().is_empty() {
            return Err(missing("user"));
        }
        let schema = Some(decoded(url.path().trim_matches('/'))).filter(|schema| !schema.is_empty());
        let password = url
            .password()
            .map(decoded)
            .map(Secret::new)
            .or(password)
            .unwrap_or_default();
        let Options {
            verification,
            socket,
            public_key,
        } = options(&url, &host)?;
        let instead = "say ssl-mode=VERIFY_CA, which still verifies them against ssl-ca";
        have_one_name(&verification, &others, instead)?;
        let is_here = url.port().is_none() && others.is_empty() && THIS_MACHINE.contains(&host.as_str());
        if socket.is_some() && !is_here {
            return Err(TargetError::SocketElsewhere);
        }
        Ok(Self {
            port: url.port().unwrap_or(PORT),
            others,
            socket,
            user: decoded(url.username()),
            password,
            schema,
            verification,
            public_key,
            host,
        })
    }
}

impl MySqlTarget {
    pub(super) fn url(&self) -> String {
        let path = |path: &Path| encoded(&path.to_string_lossy()).to_string();
        let mut options = Vec::new();
        match &self.verification {
            Verification::None => {}
            Verification::Ca(ca) => options.push(format!("ssl-ca={}", path(ca))),
            Verification::HostName(ca, _) => {
                options.extend([
                    "ssl-mode=VERIFY_IDENTITY".to_owned(),
                    format!("ssl-ca={}", path(ca)),
                ]);
            }
        }
        match &self.public_key {
            None => {}
            Some(PublicKey::Anybodys) => options.push("get-server-public-key=true".to_owned()),
            Some(PublicKey::File(file)) => options.push(format!("server-public-key-path={}", path(file))),
        }
        // The socket is in the target's text already.
        match (options.is_empty(), &self.socket) {
            (true, _) => self.to_string(),
            (false, None) => format!("{self}?{}", options.join("&")),
            (false, Some(_)) => format!("{self}&{}", options.join("&")),
        }
    }

    /// Where the first of them listens: `host:port` with brackets around an IPv6 address, or the path of its Unix socket.
    pub fn address(&self) -> String {
        match &self.socket {
            Some(socket) => socket.display().to_string(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// The target as a URL without its password and all options but the socket.
impl fmt::Display for MySqlTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}@", encoded(&self.user))?;
        let schema = self
            .schema
            .as_deref()
            .map_or_else(String::new, |schema| encoded(schema).to_string());
        match &self.socket {
            Some(socket) => {
                let host = if self.host.contains(':') {
                    "[::1]"
                } else {
                    &self.host
                };
                let socket = socket.to_string_lossy();
                write!(f, "{host}/{schema}?socket={}", encoded(&socket))
            }
            None => write!(f, "{}{}/{schema}", self.address(), and_others(&self.others)),
        }
    }
}

/// The URL with the first of its hosts alone, and the others.
fn of_several(text: &str, authority: &str) -> Result<(String, Vec<Address>), TargetError> {
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let Some((_, others)) = hosts.split_once(',') else {
        return Ok((text.to_owned(), Vec::new()));
    };
    let begin = text.find("://").map_or(0, |at| at + 3);
    let (before, after) = text.split_at(begin + authority.len());
    let before = &before[..before.len() - ",".len() - others.len()];
    Ok((format!("{before}{after}"), addresses(others, PORT)?))
}

struct Options {
    verification: Verification,
    socket: Option<PathBuf>,
    public_key: Option<PublicKey>,
}

fn options(url: &Url, host: &str) -> Result<Options, TargetError> {
    let mut mode = None;
    let mut ca = None;
    let mut socket = None;
    let mut public_key = None;
    for (name, value) in url.query_pairs() {
        let option = format!("{name}={value}");
        match (&*name, &*value.to_ascii_lowercase()) {
            (
                "ssl-mode" | "sslmode" | "ssl_mode" | "tls",
                "preferred" | "prefer" | "allow" | "skip-verify-preferred",
            ) => {
                return Err(TargetError::Preferred(option));
            }
            ("ssl-mode" | "tls", "disabled" | "disable" | "false") => {
                return Err(TargetError::Disabled(option));
            }
            ("ssl-mode", "required" | "verify_ca" | "verify_identity") => {
                mode = Some(value.to_ascii_uppercase())
            }
            ("ssl-mode", _) => {
                return Err(TargetError::Value {
                    name: name.into(),
                    value: value.into(),
                    expected: MODES,
                });
            }
            ("ssl-ca" | "server-public-key-path", "") => {
                return Err(TargetError::Value {
                    name: name.into(),
                    value: String::new(),
                    expected: "the path of a PEM file",
                });
            }
            // As with MySQL's own clients, a file goes before asking.
            ("server-public-key-path", _) => {
                public_key = Some(PublicKey::File(PathBuf::from(value.as_ref())));
            }
            ("get-server-public-key", "true" | "1") => {
                public_key = public_key.or(Some(PublicKey::Anybodys));
            }
            ("get-server-public-key", "false" | "0") => {}
            ("get-server-public-key", _) => {
                return Err(TargetError::Value {
                    name: name.into(),
                    value: value.into(),
                    expected: "true or false",
                });
            }
            ("ssl-ca", _) => ca = Some(PathBuf::from(value.as_ref())),
            ("socket", _) if !value.starts_with('/') => {
                return Err(TargetError::Value {
                    name: name.into(),
                    value: value.into(),
                    expected: "the path of the server's Unix socket, from / on (its variable socket)",
                });
            }
            ("socket", _) => socket = Some(PathBuf::from(value.as_ref())),
            _ => {
                return Err(TargetError::UnknownOption {
                    name: name.into(),
                    known: KNOWN,
                });
            }
        }
    }
    Ok(Options {
        verification: verification(mode.as_deref(), ca, host)?,
        socket,
        public_key,
    })
}

fn verification(mode: Option<&str>, ca: Option<PathBuf>, host: &str) -> Result<Verification, TargetError> {
    match (mode, ca) {
        (Some("REQUIRED") | None, None) => Ok(Verification::None),
        (Some("VERIFY_CA") | None, Some(ca)) => Ok(Verification::Ca(ca)),
        (Some("VERIFY_IDENTITY"), Some(ca)) => Ok(Verification::HostName(ca, host.to_owned())),
        (Some("REQUIRED"), Some(_)) => Err(TargetError::Value {
            name: "ssl-mode".into(),
            value: "REQUIRED".into(),
            expected: "VERIFY_CA or VERIFY_IDENTITY, since ssl-ca is given (REQUIRED would not look at it)",
        }),
        (Some(mode), _) => Err(TargetError::NoCa(mode.to_owned())),
    }
}

fn missing(part: &'static str) -> TargetError {
    TargetError::Missing { part, expected: FORM }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<MySqlTarget, TargetError> {
        MySqlTarget::parse(text, None)
    }

    #[test]
    fn a_plain_url_gives_host_port_user_and_password() {
        let target = parse("mysql://app:p%40ss%2F@db.example:3307/").unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.user.as_str()),
            ("db.example", 3307, "app")
        );
        assert_eq!(target.password.expose(), "p@ss/");
        assert_eq!(target.verification, Verification::None);
        assert_eq!(parse("mysql://app@h").unwrap().port, 3306);
        assert_eq!(parse("mysql://app@[::1]:3306").unwrap().host, "::1");
    }

    #[test]
    fn several_hosts_are_one_target() {
        let target = parse("mysql://app:p%2Cw@h1,h2:3307,[::1]:1/?ssl-ca=/etc/ca.pem").unwrap();
        let others: Vec<String> = target.others.iter().map(ToString::to_string).collect();
        assert_eq!(
            (target.address().as_str(), others),
            ("h1:3306", vec!["h2:3307".to_owned(), "[::1]:1".to_owned()])
        );
        assert_eq!(target.password.expose(), "p,w");
        assert_eq!(target.to_string(), "mysql://app@h1:3306,h2:3307,[::1]:1/");
        assert_eq!(parse(&target.url()).unwrap().others, target.others);
        assert_eq!(parse("mysql://a:b@h1,h2:x/").unwrap_err(), TargetError::Hosts);
        assert_eq!(parse("mysql://a:b@h1,/").unwrap_err(), TargetError::Hosts);
        let one_name = "mysql://a:b@h1,h2/?ssl-mode=VERIFY_IDENTITY&ssl-ca=/etc/ca.pem";
        let message = parse(one_name).unwrap_err().to_string();
        assert!(message.contains("say ssl-mode=VERIFY_CA"), "{message}");
        let elsewhere = parse("mysql://a:b@localhost,h2/?socket=/run/s").unwrap_err();
        assert_eq!(elsewhere, TargetError::SocketElsewhere);
    }

    #[test]
    fn a_ca_is_verified_against() {
        let ca = PathBuf::from("/etc/ca.pem");
        let with = |options: &str| parse(&format!("mysql://a:b@h/?{options}")).unwrap().verification;
        assert_eq!(with("ssl-ca=/etc/ca.pem"), Verification::Ca(ca.clone()));
        assert_eq!(
            with("ssl-mode=VERIFY_IDENTITY&ssl-ca=/etc/ca.pem"),
            Verification::HostName(ca, "h".into())
        );
        assert_eq!(with("ssl-mode=REQUIRED"), Verification::None);
    }

    #[test]
    fn a_preferred_target_is_no_baseline() {
        for option in ["ssl-mode=PREFERRED", "tls=preferred", "sslmode=prefer"] {
            let error = parse(&format!("mysql://a:b@h/?{option}")).unwrap_err();
            assert!(matches!(error, TargetError::Preferred(_)), "{option}: {error}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named_with_what_would_be() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert!(message("mysql://a:b@h/?sslca=x").contains("did you mean \"ssl-ca\""));
        assert!(message("mysql://a:b@h/?ssl-mode=maybe").contains("VERIFY_CA"));
        assert!(message("mysql://a:b@h/?ssl-mode=VERIFY_CA").contains("ssl-ca="));
        assert!(message("mysql://h/").contains("no user"));
    }

    #[test]
    fn the_url_without_password_is_the_same_target() {
        for options in [
            "",
            "?ssl-ca=/etc/my%20ca.pem",
            "?ssl-mode=VERIFY_IDENTITY&ssl-ca=/etc/ca.pem",
            "?get-server-public-key=true",
            "?ssl-ca=/etc/ca.pem&server-public-key-path=/etc/my%20key.pem",
        ] {
            for schema in ["", "my%20shop"] {
                let target = parse(&format!("mysql://app:secret@[::1]:3307/{schema}{options}")).unwrap();
                let again = MySqlTarget::parse(&target.url(), Some(Secret::new("secret"))).unwrap();
                assert_eq!(again, target);
            }
        }
        for host in ["localhost", "[::1]"] {
            for options in ["", "&ssl-ca=/etc/ca.pem"] {
                let text = format!("mariadb://app:secret@{host}/?socket=/run/my%20sql.sock{options}");
                let target = parse(&text).unwrap();
                let again = MySqlTarget::parse(&target.url(), Some(Secret::new("secret"))).unwrap();
                assert_eq!(again, target);
            }
        }
    }

    #[test]
    fn a_key_is_taken_of_whoever_answers_only_where_the_url_says_so() {
        let key = |options: &str| parse(&format!("mysql://a:b@h/?{options}")).unwrap().public_key;
        let file = Some(PublicKey::File("/k.pem".into()));
        assert_eq!(key("ssl-ca=/ca.pem"), None);
        assert_eq!(key("get-server-public-key=false"), None);
        assert_eq!(key("get-server-public-key=TRUE"), Some(PublicKey::Anybodys));
        assert_eq!(key("server-public-key-path=/k.pem&get-server-public-key=1"), file);
        assert_eq!(key("get-server-public-key=1&server-public-key-path=/k.pem"), file);
        let message = |options: &str| {
            parse(&format!("mysql://a:b@h/?{options}"))
                .unwrap_err()
                .to_string()
        };
        assert!(message("get-server-public-key=maybe").contains("true or false"));
        assert!(message("server-public-key-path=").contains("PEM file"));
    }

    #[test]
    fn a_unix_socket_is_one_of_this_machine() {
        let target = parse("mysql://app@localhost/?socket=/run/mysqld/mysqld.sock").unwrap();
        assert_eq!(target.socket, Some(PathBuf::from("/run/mysqld/mysqld.sock")));
        assert_eq!(target.address(), "/run/mysqld/mysqld.sock");
        let message = |text: &str| parse(text).unwrap_err().to_string();
        for url in [
            "mysql://app@db.example/?socket=/s",
            "mysql://app@localhost:3306/?socket=/s",
        ] {
            assert!(message(url).contains("localhost/?socket="), "{url}");
        }
        assert!(message("mysql://app@localhost/?socket=s").contains("from / on"));
    }

    #[test]
    fn a_reserved_character_in_a_password_is_to_be_encoded_and_no_part_of_it_is_said() {
        for text in [
            "mysql://app:p@tr0ub4dor/w#rd@host/",
            "mysql://app:tr0ub4dor#x@host/",
            "mysql://app:1/tr0ub4dor@host/",
            "mysql://app:1?tr0ub4dor=x@host/",
            "mariadb://app:100%tr0ub4dor@host/",
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(!message.contains("tr0ub4dor"), "{message}");
            for word in ["%40 for @", "%25 for %", "CIPHERTAX_PASSWORD"] {
                assert!(message.contains(word), "{text}: {message}");
            }
        }
        // An @ in the authority can be understood, since the last one ends the password.
        assert_eq!(parse("mysql://app:p@ss@host/").unwrap().password.expose(), "p@ss");
    }

    #[test]
    fn a_password_from_elsewhere_fills_in_for_one_that_is_not_in_the_url() {
        let given = || Some(Secret::new("given"));
        assert_eq!(
            MySqlTarget::parse("mysql://a@h/", given())
                .unwrap()
                .password
                .expose(),
            "given"
        );
        assert_eq!(
            MySqlTarget::parse("mysql://a:own@h/", given())
                .unwrap()
                .password
                .expose(),
            "own"
        );
    }
}
