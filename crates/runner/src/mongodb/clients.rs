//! How clients of MongoDB log in, and what programs of the user's own find of an arm.

use std::collections::BTreeMap;
use std::sync::Arc;

use ciphertax_base::Secret;
use ciphertax_base::counter::CONNECTIONS;
use ciphertax_lab::Account;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::mongodb::find_canary;
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, ReadPreference};
use ciphertax_wire::mongodb::{self as wire, ConnectOptions, Identity, Login, ScramKeys, Session};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_wire::{Address, Expectation};
use ciphertax_workload::mongodb::MongodbAccess;
use ciphertax_workload::sql::Columns;

use super::counters::{HANDSHAKES, LOGINS, QUERIES};
use super::database::address;
use crate::database::{Canary, Clients, Counted, Documents, Endpoint, Reached, encoded};
use crate::error::Result;

/// Certificate and key of the client in one file, as MongoDB's drivers want them.
const CLIENT: &str = "client.pem";

pub(crate) struct MongoDb {
    pub(super) is_replica_set: bool,
    /// The name that the replica set must have.
    pub(super) set_name: Option<String>,
    /// The members of the replica set, as these call each other; of the user's own as soon as they are found.
    pub(super) members: Vec<Address>,
}

impl Clients for MongoDb {
    const CERTIFICATE: Option<AuthenticationMethod> = Some(AuthenticationMethod::MongodbX509);
    const PROGRAMS_READ: &'static str = "CIPHERTAX_URL";
    const TLS_VERSIONS_STUDY: &'static str = "mongodb-tls-versions";
    const DEMANDS_TLS: &'static str = "it demands TLS (net.tls.mode requireTLS)";
    const DENIAL_MAY_MEAN_TLS: bool = false;

    type Model = Documents;
    type Login = Login;
    type Options = ConnectOptions;
    type Session = Session;
    type Access = MongodbAccess;

    fn login_of(account: &Account) -> Login {
        Login::by(account.method, &account.user, account.password.clone()).unwrap_or(Login::None)
    }

    fn user_and_password(login: &Login) -> (String, Secret) {
        match login {
            Login::Scram(account) => (account.user.clone(), account.password.clone()),
            Login::None | Login::X509 => Default::default(),
        }
    }

    fn options(&self, endpoint: &Endpoint, login: &Login, tls: Option<Arc<TlsConnector>>) -> ConnectOptions {
        ConnectOptions {
            tls,
            scram_keys: ScramKeys::kept(),
            identity: Identity {
                set_name: self.set_name.clone(),
                me: Some(address(endpoint)).filter(|me| self.members.contains(me)),
                ..Identity::default()
            },
            ..ConnectOptions::new(&endpoint.host, endpoint.port, login.clone())
        }
    }

    fn options_of_arm(&self, options: ConnectOptions, arm: &Arm) -> ConnectOptions {
        ConnectOptions {
            speculative: arm.authentication.speculative,
            scram_keys: match arm.authentication.password_cache {
                PasswordCache::Warm => ScramKeys::kept(),
                PasswordCache::Cold => ScramKeys::Derived,
            },
            ..options
        }
    }

    /// An arm that leaves the method open is held to that of the default account, which is one of SCRAM where the server says
    /// which.
    fn expectation(arm: &Arm, login: &Login) -> Expectation {
        let method = login.method();
        let mut expected = arm.clone();
        expected.authentication.method = Some(method.unwrap_or(AuthenticationMethod::ScramSha256));
        let mut expectation = Expectation::of(&expected);
        if let (None, Some(login)) = (method, &mut expectation.login) {
            login.method = None;
        }
        expectation
    }

    fn of_private(_entry: &Entry, _: Option<Columns>, members: Option<&[Endpoint]>) -> Self {
        Self {
            is_replica_set: members.is_some(),
            set_name: None,
            members: members.unwrap_or_default().iter().map(address).collect(),
        }
    }

    fn access(
        &self,
        _arm: &Arm,
        options: ConnectOptions,
        expectation: Expectation,
        measured: &[Endpoint],
    ) -> MongodbAccess {
        let measured: Vec<Address> = measured.iter().map(address).collect();
        MongodbAccess {
            options,
            routes: self.routes(&measured),
            seeds: match self.is_replica_set {
                true => measured,
                false => Vec::new(),
            },
            expectation,
            connections: 1,
            read_preference: ReadPreference::Primary,
        }
    }

    fn canary(options: &ConnectOptions) -> Canary {
        Box::new(find_canary(options))
    }

    /// `mongodb://user:password@host:port/?authSource=…&tls=…`. It names no database: drivers would take it for that of the user.
    fn url(reached: &Reached<'_, Self>) -> String {
        let (credentials, mut options) = match reached.login {
            Login::None => (String::new(), Vec::new()),
            Login::X509 => (
                String::new(),
                vec![
                    ("authSource", encoded("$external")),
                    ("authMechanism", "MONGODB-X509".into()),
                ],
            ),
            Login::Scram(wire::Account {
                mechanism,
                user,
                password,
                source,
            }) => (
                format!("{}:{}@", encoded(user), encoded(password.expose())),
                std::iter::once(("authSource", encoded(source)))
                    .chain(mechanism.map(|mechanism| ("authMechanism", mechanism.method().name().to_owned())))
                    .collect(),
            ),
        };
        // What stands between program and server is no member of a replica set.
        options.push(("directConnection", "true".into()));
        options.push(("tls", reached.policy.is_some().to_string()));
        if reached.policy.is_some() {
            match reached.ca() {
                Some(ca) => options.push(("tlsCAFile", encoded(&ca.to_string_lossy()))),
                None => options.push(("tlsAllowInvalidCertificates", "true".into())),
            }
            if reached.ca().is_some() && !reached.verifies_name() {
                options.push(("tlsAllowInvalidHostnames", "true".into()));
            }
            if reached.client_certificate().is_some() {
                let file = reached.folder.join(CLIENT);
                options.push(("tlsCertificateKeyFile", encoded(&file.to_string_lossy())));
            }
        }
        let options: Vec<String> = options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!(
            "mongodb://{credentials}{}:{}/?{}",
            reached.host_in_url(),
            reached.endpoint.port,
            options.join("&")
        )
    }

    /// The client's certificate with its key.
    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let Some(client) = reached.client_certificate() else {
            return Ok(Vec::new());
        };
        let mut both = reached.read(&client.key)?;
        both.push(b'\n');
        both.extend(reached.read(&client.certificate)?);
        Ok(vec![(CLIENT, both)])
    }

    fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
        let group = |counters: &BTreeMap<String, i64>, prefix: &str| -> BTreeMap<String, i64> {
            let named =
                |(name, count): (&String, &i64)| Some((name.strip_prefix(prefix)?.to_owned(), *count));
            counters.iter().filter_map(named).collect()
        };
        let counts_handshakes = !group(at_the_end, HANDSHAKES).is_empty();
        let handshakes = group(change, HANDSHAKES).into_values().sum();
        let logins = group(change, LOGINS);
        let queries: i64 = QUERIES.iter().filter_map(|name| change.get(*name)).sum();
        Counted {
            connections: change.get(CONNECTIONS).copied(),
            // One is counted when it is complete.
            handshakes: counts_handshakes.then_some(handshakes),
            completed: handshakes,
            logins: (!logins.is_empty()).then_some(logins),
            queries: queries.max(0).unsigned_abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::Transport;
    use ciphertax_wire::tls::{ClientCertificate, TlsPolicy, Verification};

    use super::*;

    #[test]
    fn a_url_holds_whatever_a_password_holds() {
        let arm = Arm::new("plain", Transport::Plain);
        let endpoint = Endpoint::new("::1", 27018);
        let login = Login::by(AuthenticationMethod::ScramSha256, "app", Secret::new("p#/é"));
        assert_eq!(
            MongoDb::url(&Reached::made_up(&arm, &endpoint, &login.unwrap(), None)),
            "mongodb://app:p%23%2F%C3%A9@[::1]:27018/?authSource=admin&authMechanism=SCRAM-SHA-256&directConnection=true&\
             tls=false"
        );
    }

    #[test]
    fn a_client_certificate_is_one_file_and_names_nobody_else() {
        let arm = Arm::new("tls", Transport::Tls13);
        let endpoint = Endpoint::new("127.0.0.1", 27018);
        let policy = TlsPolicy {
            client_certificate: Some(ClientCertificate {
                certificate: "/a".into(),
                key: "/b".into(),
                password: None,
            }),
            ..TlsPolicy::new(None, Verification::HostName("/ca.pem".into(), "127.0.0.1".into()))
        };
        assert_eq!(
            MongoDb::url(&Reached::made_up(&arm, &endpoint, &Login::X509, Some(&policy))),
            "mongodb://127.0.0.1:27018/?authSource=%24external&authMechanism=MONGODB-X509&directConnection=true&tls=true&\
             tlsCAFile=%2Fca%2Epem&tlsCertificateKeyFile=%2Ftmp%2Ff%2Fclient%2Epem"
        );
    }
}
