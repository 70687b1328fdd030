//! The session for everything that is not measured.

use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::mongodb::{ConnectOptions, Session};

use crate::error::RunError;
use crate::host::UPTIME;

const PATIENCE: Duration = Duration::from_secs(20);

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

/// A session of the calling thread.
pub(super) struct Control {
    pub(super) reactor: Rc<Reactor>,
    /// To each of the servers.
    ways: Vec<ConnectOptions>,
    session: Session,
    server: String,
}

impl Control {
    /// Connects in clear to the first of the servers that answers. `encrypted` are ways over TLS, tried only to tell a server
    /// that demands TLS.
    ///
    /// # Errors
    /// Names the server, what went wrong, and the remedy.
    pub(super) fn connect(
        server: &str,
        ways: Vec<ConnectOptions>,
        encrypted: &[ConnectOptions],
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
            Some(Err(error)) if error.is_tls_demanded() && demands_tls() => Err(broken(
                "it demands TLS, so a plain baseline is not to be had: measure a server that also takes connections in \
                 clear (tlsMode preferTLS)"
                    .into(),
            )),
            Some(Err(error)) => Err(broken(format!("{error}{}", error.remedy()))),
        }
    }

    /// Makes sure that no other ciphertax measures this server: the database is for one at a time, and so is the server's CPU.
    pub(super) fn claim(&mut self) -> Result<(), RunError> {
        let ask = rawdoc! {
            "aggregate": 1_i32,
            "pipeline": [
                { "$currentOp": { "allUsers": true, "idleConnections": true } },
                { "$match": { "clientMetadata.driver.name": "ciphertax", "active": false } },
                { "$limit": 1_i32 },
            ],
            "cursor": {},
            "$db": "admin",
        };
        let answer = self.command(&ask)?;
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

    /// The server's version.
    pub(super) fn version(&mut self) -> Result<String, RunError> {
        let answer = self.command(&rawdoc! { "buildInfo": 1_i32, "$db": "admin" })?;
        Ok(answer.get_str("version").unwrap_or_default().to_owned())
    }

    /// The server's counters now; those it does not have are left out. After a failover they are those of another member,
    /// which the slice that it touches notices.
    pub(super) fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError> {
        let ask = rawdoc! {
            "serverStatus": 1_i32, "metrics": 0_i32, "repl": 0_i32, "locks": 0_i32, "tcmalloc": 0_i32, "$db": "admin",
        };
        let answer = match self.command(&ask) {
            Ok(answer) => answer,
            // A member that was killed, or hung up as primaries do that step down.
            Err(_) => {
                self.reconnect()?;
                self.command(&ask)?
            }
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
    let broken = |problem: String| RunError::Server {
        server: server.to_owned(),
        problem,
    };
    match reactor.run_one(task, Instant::now() + patience) {
        Ok(Some(Ok(value))) => Ok(value),
        Ok(Some(Err(error))) => Err(broken(error.to_string())),
        Ok(None) => Err(broken(format!("no answer within {} s", patience.as_secs()))),
        Err(error) => Err(broken(error.to_string())),
    }
}
