//! A server given by the URL everybody knows.

mod clients;
mod mongodb;
mod mysql;
mod pgpass;
mod postgresql;

use std::fmt;
use std::net::IpAddr;

use ciphertax_base::Secret;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::Protocol;
use crate::address::Address;
use crate::tls::{ClientCertificate, Verification};

pub use clients::url_of_another_client;
pub use mongodb::MongoDbTarget;
pub use mysql::{MySqlTarget, PublicKey};
pub use postgresql::PostgreSqlTarget;

/// A server given by URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `mysql://user:password@host:port,host2:port/`
    MySql(MySqlTarget),
    /// `mongodb://user:password@host:port,host2:port/`
    MongoDb(MongoDbTarget),
    /// `postgresql://user:password@host:port,host2:port/database`
    PostgreSql(PostgreSqlTarget),
}

impl Target {
    /// Reads the URL of a server that is to be measured. A password that is not in it is taken from `password`.
    ///
    /// # Errors
    /// Names the part that is not understood and what is expected there; never the password.
    pub fn parse(text: &str, password: Option<Secret>) -> Result<Self, TargetError> {
        match Self::read(text, password, false)? {
            Self::MySql(MySqlTarget { schema: Some(_), .. }) => Err(TargetError::Schema { what: "schema" }),
            target => Ok(target),
        }
    }

    /// The same of one on which nothing is made, so that it may name any schema.
    ///
    /// # Errors
    /// As [`Target::parse`].
    pub fn parse_any(text: &str, password: Option<Secret>) -> Result<Self, TargetError> {
        Self::read(text, password, true)
    }

    fn read(text: &str, password: Option<Secret>, takes_schema: bool) -> Result<Self, TargetError> {
        let written = clients::as_url(text);
        let url = written.as_ref().map_or(text, |(_, url)| url);
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let read = match scheme.to_ascii_lowercase().as_str() {
            "mongodb" => MongoDbTarget::parse(rest, password).map(Self::MongoDb),
            "postgres" | "postgresql" => PostgreSqlTarget::parse(url, password).map(Self::PostgreSql),
            "mongodb+srv" => Err(TargetError::HostsInDns),
            _ => MySqlTarget::parse(url, password).map(Self::MySql),
        };
        let (options, problem) = match read {
            Err(TargetError::OtherClients { options, .. }) => (options, None),
            read if written.is_none() => return read,
            read => (Vec::new(), read.err()),
        };
        let instead = problem.map_or_else(|| clients::url_instead(url, takes_schema), Err);
        Err(TargetError::OtherClients {
            written: written.as_ref().map(|(written, _)| *written),
            options,
            instead: Some(instead.map_err(Box::new)),
        })
    }

    /// The target as a URL with its options and without its password.
    pub fn url(&self) -> String {
        match self {
            Self::MySql(target) => target.url(),
            Self::MongoDb(target) => target.url(),
            Self::PostgreSql(target) => target.url(),
        }
    }

    /// False where its clients have no TLS: over a Unix socket of PostgreSQL's.
    pub fn has_tls(&self) -> bool {
        !matches!(self, Self::PostgreSql(target) if target.socket().is_some())
    }

    /// True if its clients need no port, since it is reached over a Unix socket.
    pub fn is_over_unix_socket(&self) -> bool {
        match self {
            Self::MySql(target) => target.socket.is_some(),
            Self::MongoDb(_) => false,
            Self::PostgreSql(target) => target.socket().is_some(),
        }
    }

    /// How its servers' certificates are verified.
    pub fn verification(&self) -> &Verification {
        match self {
            Self::MySql(target) => &target.verification,
            Self::MongoDb(target) => &target.verification,
            Self::PostgreSql(target) => &target.verification,
        }
    }

    /// What its clients show, where the URL names a certificate.
    pub fn client_certificate_mut(&mut self) -> Option<&mut ClientCertificate> {
        match self {
            Self::MySql(target) => target.client_certificate.as_mut(),
            Self::MongoDb(target) => target.client_certificate.as_mut(),
            Self::PostgreSql(target) => target.client_certificate.as_mut(),
        }
    }

    /// True if TLS sessions go to a server of another machine whose certificate nobody verifies.
    pub fn is_unverified(&self) -> bool {
        let hosts: Vec<&str> = match self {
            Self::MySql(MySqlTarget { socket: Some(_), .. }) => return false,
            Self::MySql(target) => with_others(&target.host, &target.others),
            Self::MongoDb(target) => target.seeds.iter().map(|seed| seed.host.as_str()).collect(),
            Self::PostgreSql(target) => with_others(&target.host, &target.others),
        };
        *self.verification() == Verification::None
            && self.has_tls()
            && !hosts.into_iter().all(is_this_machine)
    }

    /// What its clients speak.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::MySql(_) => Protocol::MySql,
            Self::MongoDb(_) => Protocol::MongoDb,
            Self::PostgreSql(_) => Protocol::PostgreSql,
        }
    }
}

/// The target as a URL without its password and options.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(target) => target.fmt(f),
            Self::MongoDb(target) => target.fmt(f),
            Self::PostgreSql(target) => target.fmt(f),
        }
    }
}

/// Why a URL is no target.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TargetError {
    /// Not a URL at all.
    #[error(
        "the target is not a URL; expected {mysql}, {postgresql}, or {mongodb}",
        mysql = mysql::FORM, postgresql = postgresql::FORM, mongodb = mongodb::FORM
    )]
    NotAUrl,
    /// A database that is not supported.
    #[error(
        "the target's scheme is {0}://; expected mysql:// or mariadb:// (MySQL-compatible servers), postgres:// \
         (PostgreSQL), or mongodb:// (MongoDB)"
    )]
    Scheme(String),
    /// Hosts that have to be looked up.
    #[error(
        "the target's scheme is mongodb+srv://, whose hosts and options stand in the DNS; name them: \
         mongodb://user:password@host:port,host2:port/?replicaSet=NAME"
    )]
    HostsInDns,
    /// A part is missing.
    #[error("the target has no {part}; expected {expected}")]
    Missing {
        /// The part.
        part: &'static str,
        /// How a target looks like that has it.
        expected: &'static str,
    },
    /// Hosts that are none.
    #[error(
        "the target's hosts are not understood; expected host:port, or several with commas between them, with brackets \
         around an IPv6 address"
    )]
    Hosts,
    /// Several hosts by an option.
    #[error(
        "the target's option host names several; name them where hosts stand in a URL: \
         postgresql://user:password@host:port,host2:port/database"
    )]
    HostsByOption,
    /// A file with passwords that cannot be used.
    #[error("the password file {path} cannot be used: {problem}")]
    PasswordFile {
        /// The file.
        path: String,
        /// Why.
        problem: String,
    },
    /// A character with a meaning of its own where it has none.
    #[error(
        "the target's user, password or options have a character that means something else in a URL; write %40 for @, \
         %2F for /, %3F for ?, %23 for # and %25 for %, or leave the password out and give it, as it is, in the environment \
         variable CIPHERTAX_PASSWORD"
    )]
    NotEncoded,
    /// A Unix socket of another machine.
    #[error(
        "the target has a socket and a host or port besides; a Unix socket is on this machine, so say \
         mysql://user@localhost/?socket=/run/mysqld/mysqld.sock"
    )]
    SocketElsewhere,
    /// A Unix socket where none is available.
    #[error("the target is a Unix socket, over which MongoDB has no TLS to be measured; give host:port")]
    NoSockets,
    /// A schema or a database is named. Its name may be a part of a password, so it is not said.
    #[error(
        "the target names a {what}; leave it out: ciphertax works in a {what} of its own, named ciphertax, and touches no \
         other, or give --schema NAME to have its tables beside others{}", in_auth_source(.what)
    )]
    Schema {
        /// What it is called there.
        what: &'static str,
    },
    /// Written as for another client, or with options that are not read.
    #[error("{}", clients::message(*.written, .options, .instead.as_ref()))]
    OtherClients {
        /// How it is written, where it is no URL of ours.
        written: Option<&'static str>,
        /// Options that are not read, each with what to do.
        options: Vec<String>,
        /// The URL to write instead, or what is left to be mended; `None` where it was not looked for.
        instead: Option<Result<String, Box<TargetError>>>,
    },
    /// An option with a value that is not known.
    #[error("the target's option {name}={value} is not understood; expected {expected}")]
    Value {
        /// The option.
        name: String,
        /// Its value.
        value: String,
        /// What would be understood.
        expected: &'static str,
    },
    /// A target that may or may not be encrypted.
    #[error(
        "the target says {0}, which encrypts silently when the server can: no baseline can rest on that; leave it out, \
         the arms decide and prove what is encrypted"
    )]
    Preferred(String),
    /// A target that forbids what is to be measured.
    #[error(
        "the target says {0}, so TLS arms cannot be measured; leave it out, the arms decide what is encrypted"
    )]
    Disabled(String),
    /// Verification without anything to verify against.
    #[error("the target says ssl-mode={0} but names no CA; add ssl-ca=/path/to/ca.pem")]
    NoCa(String),
    /// A CA that nothing is verified against.
    #[error("the target says {0}, so nobody looks at its tlsCAFile; leave one of the two out")]
    CaInVain(String),
    /// Host names that are more than one, where every certificate is held to one.
    #[error("the target has several hosts, and certificates are held to the name of one; {0}")]
    HostNames(&'static str),
}

fn with_others<'a>(host: &'a str, others: &'a [Address]) -> Vec<&'a str> {
    let others = others.iter().map(|other| other.host.as_str());
    std::iter::once(host).chain(others).collect()
}

/// True for hosts that are this machine whatever a resolver says: addresses of the loopback device, and `localhost` (RFC 6761).
pub fn is_this_machine(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// In MongoDB's URLs the database says where the user is known, unless an option does.
fn in_auth_source(what: &str) -> &'static str {
    match what {
        mongodb::DATABASE => "; where the user is known is said by authSource=",
        _ => "",
    }
}

/// What comes before the path, the options or the fragment, and what these are.
fn parts(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()))
}

/// True if a % encodes nothing, so that it must be a character of a password that is not encoded.
fn has_stray_percent(text: &str) -> bool {
    let mut after = text.split('%').skip(1);
    let is_encoding = |text: &str| {
        let digits = text.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    !after.all(is_encoding)
}

pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// What it reads as in any part of a URL.
fn encoded(text: &str) -> impl fmt::Display {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(text, ENCODED)
}

/// Reads `host`, `host:port`, `[::1]` or `[::1]:port`, or several of them with commas between.
///
/// Only MongoDB's standard has several; drivers and libpq read several for others too.
fn addresses(text: &str, default_port: u16) -> Result<Vec<Address>, TargetError> {
    let addresses = text.split(',').map(|host| Address::read(host, default_port));
    addresses.collect::<Option<_>>().ok_or(TargetError::Hosts)
}

/// Makes sure that certificates of all of them can be held to one name, where they are held to any; `instead` is what holds them
/// to none.
///
/// # Errors
/// [`TargetError::HostNames`].
fn have_one_name(
    verification: &Verification,
    others: &[Address],
    instead: &'static str,
) -> Result<(), TargetError> {
    match verification {
        Verification::HostName(_, name) if others.iter().any(|other| other.host != *name) => {
            Err(TargetError::HostNames(instead))
        }
        _ => Ok(()),
    }
}

/// The hosts as they stand in a URL.
fn written(host: &str, port: u16, others: &[Address]) -> String {
    let one = |(host, port): (&str, u16)| match host.contains(':') {
        true => format!("[{}]:{port}", host.replace('%', "%25")),
        false => format!("{}:{port}", encoded(host)),
    };
    let others = others.iter().map(|other| (&*other.host, other.port));
    let all: Vec<String> = std::iter::once((host, port)).chain(others).map(one).collect();
    all.join(",")
}

/// Gives `take` each option that follows the `authority`, and returns the path before them. A plus is a plus.
///
/// An `@` may stand in the value of an option. Elsewhere it ends a password with characters that were not encoded, of which
/// all that was read is a part and must not be told.
fn each_option<'a>(
    protocol: Protocol,
    authority: &str,
    path_and_options: &'a str,
    mut take: impl FnMut(&str, String) -> Result<(), TargetError>,
) -> Result<&'a str, TargetError> {
    let (path, options) = path_and_options.split_once('?').unwrap_or((path_and_options, ""));
    let has_at = options.contains('@');
    if path.contains('@') || path_and_options.contains('#') || (has_at && !authority.contains('@')) {
        return Err(TargetError::NotEncoded);
    }
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let (name, value) = (decoded(name), decoded(value));
        match clients::known_option(protocol, &name) {
            Some(name) => known.push((name, value)),
            None => unknown.push((name, value)),
        }
    }
    clients::refuse(protocol, &unknown)
        .and_then(|()| known.into_iter().try_for_each(|(name, value)| take(name, value)))
        .map_err(|error| if has_at { TargetError::NotEncoded } else { error })?;
    Ok(path.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use ciphertax_testkit::says;

    use super::*;

    #[test]
    fn the_scheme_says_which_database_it_is() {
        for (url, protocol) in [
            ("mysql://a:b@h/", Protocol::MySql),
            ("mariadb://a:b@h/", Protocol::MySql),
            ("mongodb://h/", Protocol::MongoDb),
            ("MongoDB://a:b@h1,h2/", Protocol::MongoDb),
            ("postgres://a:b@h/", Protocol::PostgreSql),
            ("PostgreSQL://a:b@h/db", Protocol::PostgreSql),
        ] {
            assert_eq!(Target::parse(url, None).unwrap().protocol(), protocol, "{url}");
        }
    }

    #[test]
    fn who_answers_on_another_machine_is_known_by_a_certificate_alone() {
        for (url, is_unverified) in [
            ("mysql://a:b@db/", true),
            ("mysql://a:b@db/?ssl-ca=/ca.pem", false),
            ("mysql://a:b@LocalHost/", false),
            ("mysql://a:b@127.1.2.3/", false),
            ("mysql://a:b@[::1]/", false),
            ("mysql://a:b@[::ffff:127.0.0.1]/", false),
            ("mysql://a:b@localhost,db/", true),
            ("mysql://a:b@localhost/?socket=/run/s", false),
            ("mysql://a:b@localhost.example/", true),
            ("postgres://a:b@db/", true),
            ("postgres://a:b@db/?sslrootcert=/ca.pem", false),
            ("postgres://a:b@%2Frun/d", false),
            ("mongodb://a:b@db/", true),
            ("mongodb://a:b@127.0.0.1,db/", true),
            ("mongodb://a:b@db/?tlsCAFile=/ca.pem", false),
        ] {
            let found = Target::parse(url, None).unwrap().is_unverified();
            assert_eq!(found, is_unverified, "{url}");
        }
    }

    #[test]
    fn a_schema_of_mysql_is_refused_where_one_is_made_and_taken_where_none_is() {
        let error = Target::parse("mysql://a:b@h/shop", None).unwrap_err();
        assert!(error.to_string().contains("schema of its own"), "{error}");
        let target = Target::parse_any("mysql://a:b@h/shop", None).unwrap();
        assert_eq!(target.url(), "mysql://a@h:3306/shop");
    }

    #[test]
    fn another_scheme_is_refused_with_those_there_are() {
        let message = |text: &str| Target::parse(text, None).unwrap_err().to_string();
        for text in ["oracle://a:b@h/", "localhost:3306", "h", "mongo://h/"] {
            let message = message(text);
            says(&message, "mysql:// … mongodb://");
        }
        assert!(message("mongodb+srv://a:b@cluster.example/").contains("name them: mongodb://"));
    }

    #[test]
    fn no_text_of_a_target_holds_its_password() {
        for scheme in ["mysql", "mongodb"] {
            let target = Target::parse(&format!("{scheme}://app:tr0ub4dor@h/"), None).unwrap();
            assert!(!format!("{target} {target:?} {}", target.url()).contains("tr0ub4dor"));
            for wrong in [
                "app:tr0ub4dor@h/x",
                "app:tr0ub4dor@h/?y=1",
                "app:tr0ub4dor@h:99999/",
                "app:tr0ub4dor@/",
                "app:12/tr0ub4dor@h/",
                "app:12?tr0ub4dor@h/",
                "app:12#tr0ub4dor@h/",
                "app:tr0ub4dor",
                ":tr0ub4dor@h/",
                "app:p@tr0ub4dor/w#rd@h/",
                "app:12%tr0ub4dor@h/",
                "app:12@h/tr0ub4dor",
            ] {
                let error = Target::parse(&format!("{scheme}://{wrong}"), None).unwrap_err();
                let holds = !format!("{error} {error:?}").contains("tr0ub4dor");
                assert!(holds, "{wrong}: {error}");
            }
        }
    }

    proptest! {
        /// What is printed as *Repeat* is the same target, whatever characters are in it.
        #[test]
        fn the_url_of_a_target_is_read_as_that_target(
            user in "\\PC{1,8}",
            hosts in prop::collection::vec("[\\PC&&[^/\\[\\] :@]]{1,8}|::1|fe80::1|fe80::1%eth0", 1..3),
            name in "\\PC{1,8}",
            path in "/\\PC{0,16}",
        ) {
            let hosts: Vec<Address> = hosts.into_iter().map(|host| Address { host, port: 1234 }).collect();
            let (user, hosts) = (encoded(&user), written(&hosts[0].host, 1234, &hosts[1..]));
            let (name, path) = (encoded(&name), encoded(&path));
            for text in [
                format!("mysql://{user}@{hosts}/{name}?ssl-ca={path}&server-public-key-path={path}"),
                format!("mysql://{user}@localhost/{name}?socket={path}"),
                format!("postgresql://{user}@{hosts}/{name}?sslrootcert={path}&passfile={path}&application_name={name}"),
                format!("postgresql://{user}@{path}/{name}"),
                format!("mongodb://{user}@{hosts}/?replicaSet={name}&authSource={name}&tlsCAFile={path}&tlsAllowInvalidHostnames=true"),
            ] {
                let password = Some(Secret::new("secret"));
                let target = Target::parse_any(&text, password.clone()).unwrap();
                prop_assert_eq!(Target::parse_any(&target.url(), password).unwrap(), target);
            }
        }
    }
}
