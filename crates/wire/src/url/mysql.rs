//! Servers that speak MySQL's protocol: `mysql://user:password@host:port/?ssl-ca=…`

use std::fmt;
use std::path::{Path, PathBuf};

use ciphertax_base::Secret;

use super::{
    TargetError, addresses, decoded, each_option, encoded, has_stray_percent, have_one_name, parts, written,
};
use crate::Protocol;
use crate::address::Address;
use crate::tls::{ClientCertificate, Verification};

pub(super) const FORM: &str = "mysql://user:password@host:port/";
/// The options, by the names that MySQL's own clients use.
pub(super) const KNOWN: &[&str] = &[
    "get-server-public-key",
    "server-public-key-path",
    "socket",
    "ssl-ca",
    "ssl-cert",
    "ssl-cipher",
    "ssl-key",
    "ssl-mode",
];
/// Hosts by which MySQL's clients mean this machine, which a Unix socket is on.
const THIS_MACHINE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
const PORT: u16 = 3306;
const ONE_SUITE: &str = "one cipher suite by its OpenSSL name, such as ECDHE-RSA-AES128-GCM-SHA256";
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
    /// The client's own certificate.
    pub client_certificate: Option<ClientCertificate>,
    /// The cipher suite of TLS sessions that name none themselves, where their version has it.
    pub cipher: Option<String>,
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
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(TargetError::NotAUrl);
        };
        if !["mysql", "mariadb"].contains(&&*scheme.to_ascii_lowercase()) {
            return Err(TargetError::Scheme(scheme.to_owned()));
        }
        let (authority, path_and_options) = parts(rest);
        let mut options = Options::default();
        let path = each_option(Protocol::MySql, authority, path_and_options, |name, value| {
            options.take(name, value)
        })?;
        if has_stray_percent(authority) {
            return Err(TargetError::NotEncoded);
        }
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, own_password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(Secret::new(decoded(password)))),
            None => (login, None),
        };
        if hosts.is_empty() {
            return Err(missing("host"));
        }
        if user.is_empty() {
            return Err(missing("user"));
        }
        let mut others = addresses(hosts, PORT)?;
        let Address { host, port } = others.remove(0);
        let verification = verification(options.mode.as_deref(), options.ca, &host)?;
        let instead = "say ssl-mode=VERIFY_CA, which still verifies them against ssl-ca";
        have_one_name(&verification, &others, instead)?;
        let client_certificate = ClientCertificate::of_files(options.certificate, options.key, None);
        let client_certificate = client_certificate.ok_or(TargetError::Missing {
            part: "second file of the client's certificate",
            expected: "ssl-cert=/path/to/client-cert.pem&ssl-key=/path/to/client-key.pem",
        })?;
        if options.socket.is_some() && !THIS_MACHINE.contains(&hosts) {
            return Err(TargetError::SocketElsewhere);
        }
        Ok(Self {
            host,
            port,
            others,
            socket: options.socket,
            user: decoded(user),
            password: own_password.or(password).unwrap_or_default(),
            schema: Some(decoded(path)).filter(|schema| !schema.is_empty()),
            verification,
            client_certificate,
            cipher: options.cipher,
            public_key: options.public_key,
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
        if let Some(client) = &self.client_certificate {
            options.push(format!("ssl-cert={}", path(&client.certificate)));
            options.push(format!("ssl-key={}", path(&client.key)));
        }
        options.extend(self.cipher.iter().map(|cipher| format!("ssl-cipher={cipher}")));
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
            None => write!(f, "{}/{schema}", written(&self.host, self.port, &self.others)),
        }
    }
}

#[derive(Default)]
struct Options {
    mode: Option<String>,
    ca: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    cipher: Option<String>,
    socket: Option<PathBuf>,
    public_key: Option<PublicKey>,
}

impl Options {
    fn take(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        let said = format!("{name}={value}");
        let wrong = |expected| TargetError::Value {
            name: name.to_owned(),
            value: value.clone(),
            expected,
        };
        match (name, value.to_ascii_lowercase().as_str()) {
            ("ssl-mode", "preferred") => return Err(TargetError::Preferred(said)),
            ("ssl-mode", "disabled") => return Err(TargetError::Disabled(said)),
            ("ssl-mode", "required" | "verify_ca" | "verify_identity") => {
                self.mode = Some(value.to_ascii_uppercase());
            }
            ("ssl-mode", _) => return Err(wrong(MODES)),
            ("ssl-ca" | "ssl-cert" | "ssl-key" | "server-public-key-path", "") => {
                return Err(wrong("the path of a PEM file"));
            }
            // As with MySQL's own clients, a file goes before asking.
            ("server-public-key-path", _) => self.public_key = Some(PublicKey::File(value.into())),
            ("get-server-public-key", "true" | "1") => {
                self.public_key.get_or_insert(PublicKey::Anybodys);
            }
            ("get-server-public-key", "false" | "0") => {}
            ("get-server-public-key", _) => return Err(wrong("true or false")),
            ("ssl-ca", _) => self.ca = Some(value.into()),
            ("ssl-cert", _) => self.certificate = Some(value.into()),
            ("ssl-key", _) => self.key = Some(value.into()),
            ("ssl-cipher", name) if is_suite(name) => self.cipher = Some(value),
            ("ssl-cipher", _) => return Err(wrong(ONE_SUITE)),
            ("socket", path) if !path.starts_with('/') => {
                return Err(wrong(
                    "the path of the server's Unix socket, from / on (its variable socket)",
                ));
            }
            _ => self.socket = Some(value.into()),
        }
        Ok(())
    }
}

fn is_suite(name: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    !name.is_empty() && name.chars().all(is_part)
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
        let found = (target.host.as_str(), target.port, target.user.as_str());
        assert_eq!(found, ("db.example", 3307, "app"));
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
        let found = with("ssl-mode=VERIFY_IDENTITY&ssl-ca=/etc/ca.pem");
        assert_eq!(found, Verification::HostName(ca, "h".into()));
        assert_eq!(with("ssl-mode=REQUIRED"), Verification::None);
    }

    #[test]
    fn a_preferred_target_is_no_baseline() {
        for option in ["ssl-mode=PREFERRED", "tls=preferred", "sslmode=prefer"] {
            let error = parse(&format!("mysql://a:b@h/?{option}"))
                .unwrap_err()
                .to_string();
            let is_said = error.contains(option) && error.contains("encrypts silently");
            assert!(is_said, "{option}: {error}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named_with_what_would_be() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert!(message("mysql://a:b@h/?ssl-caa=x").contains("did you mean \"ssl-ca\""));
        assert!(message("mysql://a:b@h/?ssl-mode=maybe").contains("VERIFY_CA"));
        assert!(message("mysql://a:b@h/?ssl-mode=VERIFY_CA").contains("ssl-ca="));
        assert!(message("mysql://a:b@h/?ssl-cert=/c.pem").contains("&ssl-key="));
        assert!(message("mysql://a:b@h/?ssl-cipher=HIGH:!MD5").contains("one cipher suite"));
        assert!(message("mysql://a:b@h/?tls-version=TLSv1.3").contains("the arms say"));
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
            "?ssl-cert=/etc/my%20c.pem&ssl-key=/k.pem&ssl-cipher=ECDHE-RSA-AES128-GCM-SHA256",
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
    fn paths_have_the_characters_that_file_names_have() {
        let target =
            parse("mysql://a@localhost/?ssl-ca=/srv/a+b/ca.pem&socket=/run/mysqld@3307/mysqld.sock").unwrap();
        assert_eq!(target.verification, Verification::Ca("/srv/a+b/ca.pem".into()));
        assert_eq!(target.socket, Some("/run/mysqld@3307/mysqld.sock".into()));
        let cut = parse("mysql://a:b@h/?ssl-ca=/srv/a#b/ca.pem").unwrap_err();
        assert_eq!(cut, TargetError::NotEncoded);
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
            "mysql://app:p@1?tr0ub4dor=x@host/",
            "mysql://app:p@1/?socket=tr0ub4dor@host/",
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
