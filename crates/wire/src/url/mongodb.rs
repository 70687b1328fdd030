//! MongoDB: `mongodb://user:password@host:port,host2:port/?replicaSet=NAME&tlsCAFile=…`

use std::fmt;
use std::path::PathBuf;

use ciphertax_base::Secret;

use super::{
    TargetError, addresses, decoded, each_option, encoded, has_stray_percent, have_one_name, parts, written,
};
use crate::Protocol;
use crate::address::Address;
use crate::mongodb::{Account, Login, Mechanism};
use crate::tls::{ClientCertificate, Verification};

/// What looks at no host's name.
const INSTEAD_OF_NAMES: &str =
    "add tlsAllowInvalidHostnames=true, which still verifies them against tlsCAFile";
pub(super) const FORM: &str = "mongodb://user:password@host:port/";
/// What MongoDB calls a schema.
pub(super) const DATABASE: &str = "database";
/// The options, by MongoDB's own names.
pub(super) const KNOWN: &[&str] = &[
    "authMechanism",
    "authSource",
    "directConnection",
    "replicaSet",
    "ssl",
    "tls",
    "tlsAllowInvalidCertificates",
    "tlsAllowInvalidHostnames",
    "tlsCAFile",
    "tlsCertificateKeyFile",
    "tlsCertificateKeyFilePassword",
    "tlsInsecure",
    // They are about what drivers do, or what the server notes of them, and say nothing here.
    "appName",
    "retryReads",
    "retryWrites",
    "w",
];
const DEFAULT_PORT: u16 = 27017;
/// The database that knows the users unless the URL says otherwise.
const ADMIN: &str = "admin";
const TRUE_OR_FALSE: &str = "true or false";

/// A server or a replica set given by URL: `mongodb://user:password@host:port,host2:port/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MongoDbTarget {
    /// The server, or members of a replica set that are asked for the others; one at least.
    pub seeds: Vec<Address>,
    /// Who logs in.
    pub login: Login,
    /// The name that the replica set must have.
    pub replica_set: Option<String>,
    /// How the server's certificate is verified in TLS arms.
    pub verification: Verification,
    /// What clients show in TLS arms.
    pub client_certificate: Option<ClientCertificate>,
}

impl MongoDbTarget {
    /// True if the members of a replica set are asked for: where one is named, or several hosts are.
    pub fn is_replica_set(&self) -> bool {
        self.replica_set.is_some() || self.seeds.len() > 1
    }

    /// Reads what follows `mongodb://`. By hand, because no URL has more than one host but MongoDB's.
    pub(super) fn parse(rest: &str, password: Option<Secret>) -> Result<Self, TargetError> {
        let (authority, path_and_options) = parts(rest);
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        // What follows is told in messages, and must be no part of a password.
        let is_encoded = |text: &str| !text.contains('@') && !has_stray_percent(text);
        if !credentials.is_none_or(is_encoded) {
            return Err(TargetError::NotEncoded);
        }
        let mut options = Options::default();
        let database = each_option(Protocol::MongoDb, authority, path_and_options, |name, value| {
            options.take(name, value)
        })?;
        if hosts.is_empty() {
            return Err(missing("host"));
        }
        if decoded(hosts).starts_with('/') {
            return Err(TargetError::NoSockets);
        }
        let seeds = addresses(hosts, DEFAULT_PORT)?;
        if !database.is_empty() {
            return Err(TargetError::Schema { what: DATABASE });
        }
        if options.direct && seeds.len() > 1 {
            return Err(TargetError::Value {
                name: "directConnection".into(),
                value: "true".into(),
                expected: "one host, or to leave it out",
            });
        }
        Ok(Self {
            login: options.login(credentials, password)?,
            verification: options.verification(&seeds)?,
            replica_set: options.replica_set.filter(|_| !options.direct),
            client_certificate: options.client.map(|file| ClientCertificate {
                certificate: file.clone(),
                key: file,
                password: options.client_password,
            }),
            seeds,
        })
    }

    pub(super) fn url(&self) -> String {
        let mut options: Vec<(&str, String)> = Vec::new();
        if let Login::Scram(account) = &self.login
            && account.source != ADMIN
        {
            options.push(("authSource", encoded(&account.source).to_string()));
        }
        if let (true, Some(method)) = (self.login != Login::None, self.login.method()) {
            options.push(("authMechanism", method.name().to_owned()));
        }
        if let Some(client) = &self.client_certificate {
            let file = encoded(&client.certificate.to_string_lossy()).to_string();
            options.push(("tlsCertificateKeyFile", file));
        }
        if let Some(name) = &self.replica_set {
            options.push(("replicaSet", encoded(name).to_string()));
        }
        if let Verification::Ca(ca) | Verification::HostName(ca, _) = &self.verification {
            options.push(("tlsCAFile", encoded(&ca.to_string_lossy()).to_string()));
        }
        if let Verification::Ca(_) = &self.verification {
            options.push(("tlsAllowInvalidHostnames", "true".to_owned()));
        }
        let options: Vec<String> = options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        match options.is_empty() {
            true => self.to_string(),
            false => format!("{self}?{}", options.join("&")),
        }
    }
}

/// The target as a URL without its password and options.
impl fmt::Display for MongoDbTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mongodb://")?;
        if let Login::Scram(account) = &self.login {
            write!(f, "{}@", encoded(&account.user))?;
        }
        let first = &self.seeds[0];
        write!(f, "{}/", written(&first.host, first.port, &self.seeds[1..]))
    }
}

#[derive(Default)]
struct Options {
    source: Option<String>,
    mechanism: Option<Mechanism>,
    /// True for a login by certificate.
    x509: bool,
    client_password: Option<Secret>,
    /// Certificate and key of the client, in one file.
    client: Option<PathBuf>,
    replica_set: Option<String>,
    direct: bool,
    ca: Option<PathBuf>,
    any_host_name: bool,
    /// The option that has nobody look at certificates.
    any_certificate: Option<String>,
}

impl Options {
    fn take(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        let said = format!("{name}={value}");
        let unclear = |expected: &'static str| TargetError::Value {
            name: name.to_owned(),
            value: value.clone(),
            expected,
        };
        let flag = || match value.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(unclear(TRUE_OR_FALSE)),
        };
        let text = |expected| match value.is_empty() {
            true => Err(unclear(expected)),
            false => Ok(value.clone()),
        };
        match name {
            "authSource" => self.source = Some(text("the name of the database that knows the user")?),
            "authMechanism" => match value.as_str() {
                "DEFAULT" => self.mechanism = None,
                "SCRAM-SHA-256" => self.mechanism = Some(Mechanism::ScramSha256),
                "SCRAM-SHA-1" => self.mechanism = Some(Mechanism::ScramSha1),
                "MONGODB-X509" => self.x509 = true,
                _ => return Err(unclear("SCRAM-SHA-256, SCRAM-SHA-1 or MONGODB-X509")),
            },
            "tlsCertificateKeyFile" => self.client = Some(text("the path of a PEM file")?.into()),
            "tlsCertificateKeyFilePassword" => self.client_password = Some(Secret::new(value)),
            "replicaSet" => self.replica_set = Some(text("the name of the replica set")?),
            "directConnection" => self.direct = flag()?,
            "tls" | "ssl" if !flag()? => return Err(TargetError::Disabled(said)),
            "tls" | "ssl" => {}
            "tlsCAFile" => self.ca = Some(text("the path of a PEM file")?.into()),
            "tlsAllowInvalidHostnames" => self.any_host_name = flag()?,
            "tlsAllowInvalidCertificates" | "tlsInsecure" if flag()? => self.any_certificate = Some(said),
            _ => {}
        }
        Ok(())
    }

    fn login(&self, credentials: Option<&str>, given: Option<Secret>) -> Result<Login, TargetError> {
        if self.x509 {
            return self.login_by_certificate(credentials);
        }
        let Some(credentials) = credentials else {
            return match self.mechanism {
                Some(_) => Err(missing("user")),
                None => Ok(Login::None),
            };
        };
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, Some(Secret::new(decoded(password)))),
            None => (credentials, None),
        };
        if user.is_empty() {
            return Err(missing("user"));
        }
        Ok(Login::Scram(Account {
            mechanism: self.mechanism,
            user: decoded(user),
            password: password.or(given).unwrap_or_default(),
            source: self.source.clone().unwrap_or_else(|| ADMIN.to_owned()),
        }))
    }

    /// The certificate says who it is.
    fn login_by_certificate(&self, credentials: Option<&str>) -> Result<Login, TargetError> {
        let wrong = |expected: &'static str| TargetError::Value {
            name: "authMechanism".into(),
            value: "MONGODB-X509".into(),
            expected,
        };
        if self.client.is_none() {
            return Err(wrong(
                "tlsCertificateKeyFile with it, the path of a PEM file with certificate and key",
            ));
        }
        if credentials.is_some() {
            return Err(wrong("no user with it: the certificate says who logs in"));
        }
        match self.source.as_deref() {
            None | Some("$external") => Ok(Login::X509),
            Some(_) => Err(wrong("authSource=$external with it, or to leave authSource out")),
        }
    }

    fn verification(&self, seeds: &[Address]) -> Result<Verification, TargetError> {
        match (&self.any_certificate, &self.ca) {
            (_, None) => Ok(Verification::None),
            (Some(said), Some(_)) => Err(TargetError::CaInVain(said.clone())),
            (None, Some(ca)) if self.any_host_name => Ok(Verification::Ca(ca.clone())),
            (None, Some(ca)) => {
                let by_name = Verification::HostName(ca.clone(), seeds[0].host.clone());
                have_one_name(&by_name, seeds, INSTEAD_OF_NAMES)?;
                Ok(by_name)
            }
        }
    }
}

fn missing(part: &'static str) -> TargetError {
    TargetError::Missing { part, expected: FORM }
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::rows;

    use super::*;

    fn parse(rest: &str) -> Result<MongoDbTarget, TargetError> {
        MongoDbTarget::parse(rest, None)
    }

    fn account(target: &MongoDbTarget) -> &Account {
        match &target.login {
            Login::Scram(account) => account,
            login => panic!("no login by SCRAM: {login:?}"),
        }
    }

    fn hosts(rest: &str) -> Vec<(String, u16)> {
        let seeds = parse(rest).unwrap().seeds.into_iter();
        seeds.map(|seed| (seed.host, seed.port)).collect()
    }

    #[test]
    fn a_plain_url_gives_hosts_user_and_password() {
        let target = parse("my%3Aapp:p%40ss%2F@db.example:27018/").unwrap();
        let account = account(&target);
        let found = (account.user.as_str(), account.password.expose());
        assert_eq!(found, ("my:app", "p@ss/"));
        assert_eq!((account.source.as_str(), account.mechanism), ("admin", None));
        assert_eq!(target.verification, Verification::None);
        assert!(!target.is_replica_set());
        assert_eq!(hosts("h"), [("h".to_owned(), 27017)]);
        assert_eq!(
            hosts("a@h1:1,[::1]:2,[fe80::1%25eth0],h3/?appName=x"),
            [("h1", 1), ("::1", 2), ("fe80::1%eth0", 27017), ("h3", 27017)]
                .map(|(host, port)| (host.to_owned(), port))
        );
    }

    #[test]
    fn without_a_user_nobody_logs_in() {
        let given = Some(Secret::new("given"));
        let found = MongoDbTarget::parse("h/?authSource=x", given).unwrap().login;
        assert_eq!(found, Login::None);
        assert!(
            parse("h/?authMechanism=SCRAM-SHA-1")
                .unwrap_err()
                .to_string()
                .contains("no user")
        );
    }

    #[test]
    fn a_password_from_elsewhere_fills_in_for_one_that_is_not_in_the_url() {
        let password = |rest| {
            let target = MongoDbTarget::parse(rest, Some(Secret::new("given"))).unwrap();
            account(&target).password.expose().to_owned()
        };
        let found = (password("a@h/"), password("a:own@h/"));
        assert_eq!(found, ("given".into(), "own".into()));
    }

    #[test]
    fn the_login_is_by_what_the_options_say() {
        let target = parse("a:b@h/?authsource=shop&authMechanism=SCRAM-SHA-1").unwrap();
        let account = account(&target);
        let found = (account.source.as_str(), account.mechanism);
        assert_eq!(found, ("shop", Some(Mechanism::ScramSha1)));
    }

    #[test]
    fn members_are_asked_for_where_a_set_or_several_hosts_are_named() {
        let is_set = |rest| parse(rest).unwrap().is_replica_set();
        assert!(is_set("h1,h2") && is_set("h/?replicaSet=rs"));
        assert!(!is_set("h/?directConnection=false"));
        assert!(!is_set("h/?replicaSet=rs&directConnection=true"));
        let error = parse("h1,h2/?directConnection=true").unwrap_err();
        assert!(error.to_string().contains("one host"), "{error}");
    }

    #[test]
    fn a_ca_is_verified_against_and_the_name_of_the_host() {
        let ca = PathBuf::from("/etc/my ca.pem");
        let with = |rest: &str| parse(rest).map(|target| target.verification);
        let by_name = Verification::HostName(ca.clone(), "h".into());
        let found = with("h/?tls=true&tlsCAFile=/etc/my%20ca.pem");
        assert_eq!(found, Ok(by_name.clone()));
        assert_eq!(with("h:1,h:2/?tlsCAFile=/etc/my%20ca.pem"), Ok(by_name));
        let any = "tlsCAFile=/etc/my%20ca.pem&tlsAllowInvalidHostnames=true";
        assert_eq!(with(&format!("h1,h2/?{any}")), Ok(Verification::Ca(ca)));
        let found = with("h1,h2/?tlsCAFile=x");
        assert_eq!(found, Err(TargetError::HostNames(INSTEAD_OF_NAMES)));
        for none in ["ssl=true", "tlsInsecure=true", "tlsAllowInvalidCertificates=true"] {
            assert_eq!(with(&format!("h/?{none}")), Ok(Verification::None));
        }
        let in_vain = with("h/?tlsInsecure=true&tlsCAFile=x").unwrap_err().to_string();
        assert!(in_vain.contains("tlsInsecure=true"), "{in_vain}");
    }

    #[test]
    fn what_drivers_do_says_nothing() {
        let plain = parse("a:b@h").unwrap();
        let options =
            "appName=x&retryWrites=true&retryReads=false&w=majority&directConnection=true&tls=true&ssl=true";
        assert_eq!(parse(&format!("a:b@h/?{options}")), Ok(plain));
    }

    #[test]
    fn a_certificate_logs_in_and_is_named_in_the_url_again() {
        let text = "h/?authMechanism=MONGODB-X509&tlsCertificateKeyFile=/c.pem&tlsCAFile=/ca.pem";
        let target = parse(text).unwrap();
        assert_eq!(target.login, Login::X509);
        let client = target.client_certificate.clone().unwrap();
        let found = (client.certificate, client.key);
        assert_eq!(found, (PathBuf::from("/c.pem"), PathBuf::from("/c.pem")));
        let url = target.url();
        let (_, rest) = url.split_once("://").unwrap();
        assert_eq!(parse(rest).unwrap(), target, "{url}");
        let encrypted = parse(&format!("{text}&tlsCertificateKeyFilePassword=s3cret")).unwrap();
        assert_eq!(encrypted.url(), url);
        let password = encrypted.client_certificate.unwrap().password;
        assert_eq!(password, Some(Secret::new("s3cret")));
        let external = parse(&format!("{text}&authSource=%24external")).unwrap();
        assert_eq!(external, target);
    }

    #[test]
    fn what_is_not_understood_is_named_with_what_would_be() {
        for [rest, words] in rows(
            r#"
            h/?tlsCaFiel=x → did you mean "tlsCAFile"
            h/?compresors=zstd → known are authMechanism
            h/?tls=maybe → true or false
            h/?tlsCAFile= → PEM file
            h/?tls=false → TLS arms cannot be measured
            h/?ssl=false → TLS arms cannot be measured
            h/?readpreference=secondary → read_preference
            h/?authMechanism=MONGODB-X509 → tlsCertificateKeyFile with it
            a@h/?authMechanism=MONGODB-X509&tlsCertificateKeyFile=c → no user with it
            h/?authMechanism=MONGODB-X509&tlsCertificateKeyFile=c&authSource=admin → authSource=$external
            h/?tlsCertificateKeyFile= → PEM file
            a@h/?authMechanism=PLAIN → SCRAM-SHA-256, SCRAM-SHA-1 or MONGODB-X509
            h/shop?w=1 → database of its own
            a@h/admin → authSource=
             → no host
            a:b@/ → no host
            :b@h/ → no user
            h,,h2 → hosts are not understood
            h:0 → hosts are not understood
            h:70000 → hosts are not understood
            ::1 → brackets
            %2Ftmp%2Fmongodb-27017.sock → host:port
            a:p@ss@h/ → %40
            a:p/ss@h/ → %2F
        "#,
        ) {
            let message = parse(rest).unwrap_err().to_string();
            assert!(message.contains(words), "{rest}: {message}");
        }
    }

    #[test]
    fn the_url_without_password_is_the_same_target() {
        for rest in [
            "h/",
            "a%40b%2F:secret@[::1]:27018/",
            "a:secret@h1:1,h2:2/?replicaSet=my%20set&authSource=shop%26co&authMechanism=SCRAM-SHA-1",
            "a:secret@h/?tlsCAFile=/etc/my%20c%C3%A4.pem",
            "a:secret@h/?authMechanism=SCRAM-SHA-256",
            "a:secret@h/?tlsCAFile=/etc/a+b.pem&tlsAllowInvalidHostnames=true",
        ] {
            let target = parse(rest).unwrap();
            let url = target.url();
            let again = MongoDbTarget::parse(
                url.strip_prefix("mongodb://").unwrap(),
                Some(Secret::new("secret")),
            );
            assert_eq!(again, Ok(target), "{url}");
        }
    }
}
