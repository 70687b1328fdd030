//! What is measured on: private servers, and their word on who was there.

mod mariadb;
mod mongodb;
mod postgresql;

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::{Account, PrivateServer, PrivateServerBuilder, install};
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, Transport};
use ciphertax_observe::ProcessMeter;
use ciphertax_reactor::Reactor;
use ciphertax_wire::Session;
use ciphertax_wire::mongodb::ScramKeys;
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_workload::dataset::{self, Contents};
use ciphertax_workload::sql::SqlSession;

use crate::Result;

pub use mariadb::{Login, MariadbGround, ROWS, TABLES};
pub use mongodb::MongodbGround;
pub use postgresql::PostgresqlGround;

const PATIENCE: Duration = Duration::from_secs(20);

/// A private server, and a session to ask it things.
pub struct Ground<S> {
    reactor: Rc<Reactor>,
    control: S,
    /// Which server it is.
    pub identity: String,
    /// CPU time of the server's process. PostgreSQL's sessions have processes of their own, which are not in it.
    pub cpu: ProcessMeter,
    /// The server itself.
    pub server: PrivateServer,
}

impl<S: Session> Ground<S> {
    /// Starts this server and connects to it; who calls this sets `identity`.
    fn start(
        server: PrivateServerBuilder,
        options: impl FnOnce(&PrivateServer) -> Result<S::Options>,
    ) -> Result<Self> {
        let server = server.start()?;
        let [pid] = server.pids()[..] else {
            return Err("a benchmark has a single server".into());
        };
        let reactor = Reactor::new()?;
        let options = options(&server)?;
        let (control, _) = finish(&reactor, PATIENCE, S::connect(&reactor, &options))??;
        Ok(Self {
            identity: String::new(),
            cpu: ProcessMeter::open(pid)?,
            reactor,
            control,
            server,
        })
    }

    /// Runs a task on a reactor of this thread, and ends it when the time is up.
    pub fn run<T>(&self, patience: Duration, task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> Result<T> {
        finish(&self.reactor, patience, task(&self.reactor))
    }
}

impl<S: SqlSession> Ground<S> {
    /// Makes tables as ciphertax does, by sessions with these options, and tells how long that took.
    pub fn load(&self, options: &S::Options, contents: &Contents) -> Result<Duration> {
        let began = Instant::now();
        let (mut opened, mut progress) = (Vec::new(), |_| ());
        let task =
            dataset::prepare_contents::<S>(&self.reactor, options, contents, &mut opened, &mut progress);
        finish(&self.reactor, contents.patience(), task)??;
        Ok(began.elapsed())
    }

    /// Runs statements, and returns the first value of the last one's last row; empty if it has none.
    pub fn ask(&mut self, sql: &str) -> Result<String> {
        self.value(sql, 0)
    }

    /// As [`Ground::ask`], the value in this column, counted from 0.
    fn value(&mut self, sql: &str, column: usize) -> Result<String> {
        let rows = finish(&self.reactor, PATIENCE, self.control.query(sql))??;
        Ok(rows.last().map_or(String::new(), |row| row.text(column)))
    }
}

fn finish<T>(reactor: &Reactor, patience: Duration, task: impl Future<Output = T>) -> Result<T> {
    let outcome = reactor.run_one(task, Instant::now() + patience)?;
    outcome.ok_or_else(|| "the server does not answer".into())
}

/// Fetches a server that is not there.
fn fetch(entry: &'static Entry) -> Result<()> {
    let name = entry.name;
    install(entry, &AtomicBool::new(false), &mut |step| {
        eprintln!("installing {name}: {step} …");
    })?;
    Ok(())
}

/// The account for logins by this method.
fn account(server: &PrivateServer, method: AuthenticationMethod) -> Result<&Account> {
    let account = server.account(method);
    account.ok_or_else(|| format!("the server has no account for {method}").into())
}

/// How an arm logs in.
fn method(arm: &Arm) -> Result<AuthenticationMethod> {
    let method = arm.authentication.method;
    method.ok_or_else(|| "an arm of a benchmark says how it logs in".into())
}

/// Where an arm has its keys of SCRAM from.
fn scram_keys(arm: &Arm) -> ScramKeys {
    match arm.authentication.password_cache {
        PasswordCache::Warm => ScramKeys::kept(),
        PasswordCache::Cold => ScramKeys::Derived,
    }
}

/// TLS to a host with a certificate of this authority, with what is adapted of it; `None` in plaintext.
fn tls(
    transport: Transport,
    ca_file: Option<&Path>,
    host: &str,
    adapt: impl FnOnce(TlsPolicy) -> TlsPolicy,
) -> Result<Option<Arc<TlsConnector>>> {
    if !transport.is_encrypted() {
        return Ok(None);
    }
    let ca_file = ca_file.ok_or("the server has no certificate")?;
    let verification = Verification::HostName(ca_file.to_owned(), host.to_owned());
    let policy = adapt(TlsPolicy::new(transport.tls_version(), verification));
    Ok(Some(Arc::new(TlsConnector::new(&policy)?)))
}
