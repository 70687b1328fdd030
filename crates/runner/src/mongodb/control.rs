//! The session for everything that is not measured.

use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_model::Study;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::mongodb::{Address, ConnectOptions, Login, Session, Topology};
use ciphertax_wire::{Protocol, WireError};
use ciphertax_workload::dataset::DatasetError;
use ciphertax_workload::mongodb::{DATABASE, MongodbAccess, dataset};

use crate::connections::{Limit, too_many};
use crate::error::RunError;
use crate::host::UPTIME;
use crate::patience::{unusable, wait_for};

pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// How long servers may take to remove a data set of any size.
const REMOVAL: Duration = Duration::from_secs(600);

/// Counters of a slice, by the path that leads to each in the answer to `serverStatus`.
const COUNTERS: [(&str, &[&str]); 9] = [
    ("connections.totalCreated", &["connections", "totalCreated"]),
    ("opcounters.query", &["opcounters", "query"]),
    ("opcounters.insert", &["opcounters", "insert"]),
    ("opcounters.update", &["opcounters", "update"]),
    ("opcounters.command", &["opcounters", "command"]),
    ("network.bytesIn", &["network", "bytesIn"]),
    ("network.bytesOut", &["network", "bytesOut"]),
    (
        "wiredTiger.cache.pages read into cache",
        &["wiredTiger", "cache", "pages read into cache"],
    ),
    (UPTIME, &["uptime"]),
];

/// Which server it is.
pub(super) struct Identity {
    pub(super) version: String,
    /// As the server names it; empty if it does not.
    pub(super) tls_library: String,
}

/// A session of the calling thread.
pub(super) struct Control {
    pub(super) reactor: Rc<Reactor>,
    /// To each of the servers.
    ways: Vec<ConnectOptions>,
    session: Session,
    server: String,
}

impl Control {
    /// Connects to the first of the servers that answers. `encrypted` are ways over TLS, tried only to tell a server that
    /// demands TLS. `url` is that of a target.
    ///
    /// # Errors
    /// Names the server, what went wrong, and the remedy.
    pub(super) fn connect(
        server: &str,
        ways: Vec<ConnectOptions>,
        encrypted: &[ConnectOptions],
        url: Option<&str>,
    ) -> Result<Self, RunError> {
        let broken = |problem: String| RunError::Server {
            server: server.to_owned(),
            problem,
        };
        let reactor = Reactor::new().map_err(|error| broken(error.to_string()))?;
        let log_in =
            |options| reactor.run_one(Session::connect(&reactor, options), Instant::now() + PATIENCE);
        let demands_tls = || {
            let mut ways = encrypted.iter();
            ways.any(|options| matches!(log_in(options), Ok(Some(Ok(_)))))
        };
        let connected = reactor.run_one(first_that_answers(&reactor, &ways), Instant::now() + PATIENCE);
        match connected.map_err(|error| broken(error.to_string()))? {
            None => Err(broken(format!(
                "no answer within {} s; is it reachable from here?",
                PATIENCE.as_secs()
            ))),
            Some(Ok(session)) => Ok(Self {
                reactor,
                ways,
                session,
                server: server.to_owned(),
            }),
            Some(Err(error)) if error.is_tls_demanded() && demands_tls() => Err(broken(format!(
                "it demands TLS (net.tls.mode requireTLS), and the study has a plain arm; {}",
                instead(url)
            ))),
            Some(Err(error)) if error.is_access_denied() && has_empty_password(&ways) => Err(broken(
                format!("{error}; give the password in the environment variable CIPHERTAX_PASSWORD"),
            )),
            Some(Err(error)) => Err(broken(format!("{error}{}", error.remedy(Protocol::MongoDb)))),
        }
    }

    /// Makes sure that no other ciphertax measures this server: the database is for one at a time, and so is the server's CPU.
    /// An account that may not see the sessions of other users is trusted to know of those.
    pub(super) fn claim(&mut self) -> Result<(), RunError> {
        let ask = |all_users: bool| {
            rawdoc! {
                "aggregate": 1_i32,
                "pipeline": [
                    { "$currentOp": { "allUsers": all_users, "idleConnections": true } },
                    { "$match": { "clientMetadata.driver.name": "ciphertax", "active": false } },
                    { "$limit": 1_i32 },
                ],
                "cursor": {},
                "$db": "admin",
            }
        };
        let mut answer = self.allowed(&ask(true))?;
        if answer.is_none() {
            // Its own user's sessions every account may see.
            answer = self.allowed(&ask(false))?;
        }
        let Some(answer) = answer else {
            return Ok(());
        };
        let others = answer
            .get_document("cursor")
            .and_then(|cursor| cursor.get_array("firstBatch"))
            .is_ok_and(|batch| !batch.is_empty());
        match others {
            true => Err(self.broken(
                "another ciphertax measures it; wait for its end, or end the sessions that a run which is gone has left"
                    .into(),
            )),
            false => Ok(()),
        }
    }

    /// Who is who in the replica set, which must have this name if one is given.
    pub(super) fn topology(&self, name: Option<&str>) -> Result<Topology, RunError> {
        let seeds: Vec<Address> = self.ways.iter().map(address).collect();
        let deadline = Instant::now() + PATIENCE / 2;
        let look = Topology::wait_for_primary(&self.reactor, &seeds, &self.ways[0], deadline);
        let topology = self.run(PATIENCE, look).map_err(|error| match error {
            RunError::Server { server, problem } => RunError::Server {
                server,
                problem: format!(
                    "{problem}; its members must be reached by the names they have in its configuration: for one server \
                     alone, add directConnection=true"
                ),
            },
            error => error,
        })?;
        match (name, &topology.set_name) {
            (Some(name), Some(found)) if name != found => Err(self.broken(format!(
                "its replica set is named {found}; say replicaSet={found}"
            ))),
            (Some(_), None) => Err(self.broken("it is no replica set; leave replicaSet out".into())),
            _ => Ok(topology),
        }
    }

    /// Makes sure that nobody else has a database of ciphertax's name, and that the account may remove one: before anything is
    /// written.
    pub(super) fn refuse_what_cannot_be_removed(&self, everyday: &MongodbAccess) -> Result<(), RunError> {
        let look = async {
            let primary = everyday
                .primary(&self.reactor)
                .await
                .map_err(DatasetError::from)?;
            let (mut session, _) = Session::connect(&self.reactor, &primary).await?;
            let mut found = dataset::refuse_foreign(&mut session).await;
            if found.is_ok() {
                found = dataset::refuse_without_drop(&mut session).await;
            }
            let _ = session.close().await;
            found
        };
        match wait_for(&self.reactor, &self.server, PATIENCE, look)? {
            Err(DatasetError::Wire(error)) if error.is_access_denied() => {
                Err(self.broken(format!("{error}; {}", grant(&everyday.options.login))))
            }
            found => Ok(found?),
        }
    }

    /// Removes the data set if there is one, and tells whether there was.
    pub(super) fn remove(&self, everyday: &MongodbAccess) -> Result<bool, RunError> {
        let remove = async {
            let primary = everyday
                .primary(&self.reactor)
                .await
                .map_err(DatasetError::from)?;
            let (mut session, _) = Session::connect(&self.reactor, &primary).await?;
            dataset::remove(&mut session).await
        };
        wait_for(&self.reactor, &self.server, REMOVAL, remove)?.map_err(|error| match error {
            DatasetError::Wire(error) => self.broken(error.to_string()),
            DatasetError::Failed(failure) => self.broken(failure.message().to_owned()),
            error => error.into(),
        })
    }

    /// Makes sure that the run leaves connections to other clients, as far as the account may see how many there are.
    ///
    /// # Errors
    /// Says how many it opens, how many there are, and how to take fewer.
    pub(super) fn leave_connections_to_others(&mut self, study: &Study) -> Result<(), RunError> {
        let Some(status) = self.allowed(&server_status())? else {
            return Ok(());
        };
        let number = |name| number(&status, &["connections", name])?.try_into().ok();
        let (Some(open), Some(available)): (Option<u64>, Option<u64>) =
            (number("current"), number("available"))
        else {
            return Ok(());
        };
        let limit = Limit {
            name: "maxIncomingConnections",
            most: open + available,
            open,
        };
        match too_many(study, &[limit]) {
            None => Ok(()),
            Some(problem) => Err(self.broken(problem)),
        }
    }

    /// Which server it is.
    pub(super) fn identity(&mut self) -> Result<Identity, RunError> {
        let answer = self.command(&rawdoc! { "buildInfo": 1_i32, "$db": "admin" })?;
        let openssl = answer
            .get_document("openssl")
            .and_then(|openssl| openssl.get_str("running"));
        Ok(Identity {
            version: answer.get_str("version").unwrap_or_default().to_owned(),
            tls_library: openssl.unwrap_or_default().to_owned(),
        })
    }

    /// What matters to what is measured, by the server's own names; nothing where the account may not see it.
    pub(super) fn settings(&mut self) -> Result<BTreeMap<String, String>, RunError> {
        let mut settings = BTreeMap::new();
        let Some(status) = self.allowed(&server_status())? else {
            return Ok(settings);
        };
        let engine = status
            .get_document("storageEngine")
            .and_then(|engine| engine.get_str("name"));
        settings.extend(engine.map(|engine| ("storageEngine".to_owned(), engine.to_owned())));
        let cache = number(&status, &["wiredTiger", "cache", "maximum bytes configured"]);
        settings.extend(cache.map(|bytes| {
            let gib = bytes as f64 / f64::from(1 << 30);
            ("wiredTigerCacheSizeGB".to_owned(), gib.to_string())
        }));
        Ok(settings)
    }

    /// The server's counters now; those it does not have, or the account may not see, are left out. After a failover they are those of another member,
    /// which the slice that it touches notices.
    pub(super) fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError> {
        let ask = server_status();
        let answer = match self.allowed(&ask) {
            Ok(answer) => answer,
            // A member that was killed, or hung up as primaries do that step down.
            Err(_) => {
                self.reconnect()?;
                self.allowed(&ask)?
            }
        };
        let Some(answer) = answer else {
            return Ok(BTreeMap::new());
        };
        let counter = |(name, path): (&str, &[&str])| Some((name.to_owned(), number(&answer, path)?));
        Ok(COUNTERS.into_iter().filter_map(counter).collect())
    }

    /// Runs a command.
    pub(super) fn command(&mut self, command: &RawDocument) -> Result<RawDocumentBuf, RunError> {
        let Self {
            reactor,
            session,
            server,
            ..
        } = self;
        finish(reactor, server, PATIENCE, session.command(command))
    }

    /// The same; `None` if the account may not.
    fn allowed(&mut self, command: &RawDocument) -> Result<Option<RawDocumentBuf>, RunError> {
        let Self {
            reactor,
            session,
            server,
            ..
        } = self;
        let ask = async {
            match session.command(command).await {
                Err(error) if error.is_access_denied() => Ok(None),
                answer => answer.map(Some),
            }
        };
        finish(reactor, server, PATIENCE, ask)
    }

    /// Runs a task of many commands.
    pub(super) fn run<T, E: ToString>(
        &self,
        patience: Duration,
        task: impl Future<Output = Result<T, E>>,
    ) -> Result<T, RunError> {
        finish(&self.reactor, &self.server, patience, task)
    }

    fn reconnect(&mut self) -> Result<(), RunError> {
        let connected = first_that_answers(&self.reactor, &self.ways);
        self.session = finish(&self.reactor, &self.server, PATIENCE, connected)?;
        Ok(())
    }

    fn broken(&self, problem: String) -> RunError {
        RunError::Server {
            server: self.server.clone(),
            problem,
        }
    }
}

/// What can be measured on a server that demands TLS.
fn instead(url: Option<&str>) -> String {
    let url = url.unwrap_or("TARGET");
    format!(
        "compare TLS versions with each other: ciphertax run mongodb-tls-versions '{url}', or take a study of your own \
         without a plain arm"
    )
}

/// What gives a user the rights that a run needs.
pub(super) fn grant(login: &Login) -> String {
    match login {
        Login::Scram(account) => {
            let [source, user] =
                [&account.source, &account.user].map(|name| name.replace('\\', "\\\\").replace('"', "\\\""));
            format!(
                "have its administrator run: db.getSiblingDB(\"{source}\").grantRolesToUser(\"{user}\", [{{ role: \"dbOwner\", \
                 db: \"{}\" }}])",
                DATABASE
            )
        }
        _ => "name a user in the URL, and give its password in CIPHERTAX_PASSWORD".into(),
    }
}

fn has_empty_password(ways: &[ConnectOptions]) -> bool {
    let mut logins = ways.iter().map(|options| &options.login);
    logins.any(|login| matches!(login, Login::Scram(account) if account.password.expose().is_empty()))
}

fn server_status() -> RawDocumentBuf {
    rawdoc! {
        "serverStatus": 1_i32, "metrics": 0_i32, "repl": 0_i32, "locks": 0_i32, "tcmalloc": 0_i32, "$db": "admin",
    }
}

fn address(options: &ConnectOptions) -> Address {
    Address {
        host: options.host.clone(),
        port: options.port,
    }
}

/// A session with the first of the servers that answers.
async fn first_that_answers(reactor: &Rc<Reactor>, ways: &[ConnectOptions]) -> Result<Session, WireError> {
    let mut problem = WireError::Closed;
    for options in ways {
        match Session::connect(reactor, options).await {
            Ok((session, _)) => return Ok(session),
            Err(error) => problem = error,
        }
    }
    Err(problem)
}

fn number(document: &RawDocument, path: &[&str]) -> Option<i64> {
    let (last, above) = path.split_last()?;
    let mut found = document;
    for name in above {
        found = found.get_document(name).ok()?;
    }
    match found.get(last).ok()?? {
        RawBsonRef::Int32(value) => Some(value.into()),
        RawBsonRef::Int64(value) => Some(value),
        RawBsonRef::Double(value) => Some(value as i64),
        _ => None,
    }
}

fn finish<T, E: ToString>(
    reactor: &Reactor,
    server: &str,
    patience: Duration,
    task: impl Future<Output = Result<T, E>>,
) -> Result<T, RunError> {
    wait_for(reactor, server, patience, task)?.map_err(|error| unusable(server, error.to_string()))
}
