//! A private MongoDB, and its word on who was there.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ciphertax_lab::catalogue::MONGODB;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder, install};
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, ReadPreference};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::raw::RawDocument;
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Expectation, Login, ScramKeys, ServerCounters, Session};
use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};
use ciphertax_workload::mongodb::MongodbAccess;

use super::{PATIENCE, finish};
use crate::{Result, ServerCpu};

/// A private MongoDB, and a session to ask it things.
pub struct MongodbGround {
    reactor: Rc<Reactor>,
    control: Session,
    /// The server's CPU time.
    pub cpu: ServerCpu,
    /// The server itself.
    pub server: PrivateServer,
}

impl MongodbGround {
    /// Starts this server, and fetches it before if it is not there.
    ///
    /// # Errors
    /// If there is no server, or it refuses.
    pub fn prepare(server: PrivateServerBuilder) -> Result<Self> {
        install(&MONGODB, &AtomicBool::new(false), &mut |step| {
            eprintln!("installing MongoDB: {step} …");
        })?;
        eprintln!("starting a private MongoDB …");
        let server = server.start()?;
        let [pid] = server.pids()[..] else {
            return Err("a benchmark has a single server".into());
        };
        let reactor = Reactor::new()?;
        let options = options(&server, default_method(&server))?;
        let (control, _) = finish(&reactor, PATIENCE, Session::connect(&reactor, &options))??;
        Ok(Self {
            cpu: ServerCpu::of(pid)?,
            reactor,
            control,
            server,
        })
    }

    /// Runs a task on a reactor of this thread, and ends it when the time is up.
    ///
    /// # Errors
    /// If it has not ended by then.
    pub fn run<T>(&self, patience: Duration, task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> Result<T> {
        finish(&self.reactor, patience, task(&self.reactor))
    }

    /// How so many connections at a time of an arm reach the server, and what their sessions must be.
    ///
    /// # Errors
    /// If the server has no account for the arm's method, or TLS cannot be prepared.
    pub fn access(&self, arm: &Arm, connections: usize) -> Result<MongodbAccess> {
        let authentication = &arm.authentication;
        let method = authentication
            .method
            .ok_or("an arm of a benchmark says how it logs in")?;
        let scram_keys = match authentication.password_cache {
            PasswordCache::Warm => ScramKeys::kept(),
            PasswordCache::Cold => ScramKeys::Derived,
        };
        let tls = match arm.transport.is_encrypted() {
            true => Some(Arc::new(TlsConnector::new(&self.policy(arm, method)?)?)),
            false => None,
        };
        Ok(MongodbAccess {
            options: ConnectOptions {
                tls,
                scram_keys,
                speculative: authentication.speculative,
                ..options(&self.server, method)?
            },
            seeds: Vec::new(),
            routes: Vec::new(),
            expectation: Expectation::of(arm),
            connections,
            read_preference: ReadPreference::Primary,
        })
    }

    fn policy(&self, arm: &Arm, method: AuthenticationMethod) -> Result<TlsPolicy> {
        let ca_file = self.server.ca_file().ok_or("the server has no certificate")?;
        let host = self.server.address().ip().to_string();
        let client_certificate = match method {
            AuthenticationMethod::MongodbX509 => self.server.client_certificate(Default::default())?,
            _ => None,
        };
        Ok(TlsPolicy {
            cipher: arm.tls.cipher.clone(),
            library: arm.tls.library,
            client_certificate: client_certificate.map(|files| ClientCertificate {
                certificate: files.certificate,
                key: files.key,
            }),
            ..TlsPolicy::new(
                arm.transport.tls_version(),
                Verification::HostName(ca_file.to_owned(), host),
            )
        })
    }

    /// What a command answers; it names its database as `$db`.
    ///
    /// # Errors
    /// The server's own.
    pub fn command(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        let Self { reactor, control, .. } = self;
        Ok(finish(reactor, PATIENCE, control.command(command))??)
    }

    /// What the server counted since it started.
    ///
    /// # Errors
    /// The server's own.
    pub fn counters(&mut self) -> Result<ServerCounters> {
        let Self { reactor, control, .. } = self;
        Ok(finish(reactor, PATIENCE, ServerCounters::read(control))??)
    }

    /// Makes sure by the server's word that since `before` an arm made `connections` connections at least, all of its
    /// transport and all logged in as it says.
    ///
    /// # Errors
    /// Says what was counted.
    pub fn check_since(&mut self, before: &ServerCounters, arm: &Arm, connections: u64) -> Result<()> {
        let counted = self.counters()?.since(before);
        let version = arm.transport.tls_version().map(|version| version.name());
        let handshakes_agree = counted
            .handshakes
            .iter()
            .all(|(counted, handshakes)| agrees(*handshakes, Some(counted.as_str()) == version, connections));
        let method = arm.authentication.method.map(AuthenticationMethod::name);
        let logins_agree = counted.logins.iter().all(|(counted, logins)| {
            agrees(logins.successful, Some(counted.as_str()) == method, connections)
        });
        if counted.connections < connections || !handshakes_agree || !logins_agree {
            let Arm { name, transport, .. } = arm;
            return Err(format!(
                "{name}, {connections} connections, {transport}: the server counted {counted:?}"
            )
            .into());
        }
        Ok(())
    }

    /// Which server it is.
    ///
    /// # Errors
    /// The server's own.
    pub fn identity(&mut self) -> Result<String> {
        let build = self.command(&rawdoc! { "buildInfo": 1_i32, "$db": "admin" })?;
        let version = build.get_str("version")?;
        let library = build.get_document("openssl")?.get_str("running")?;
        let cache = &self.server.settings()["wiredTigerCacheSizeGB"];
        let access_control = match default_method(&self.server) {
            AuthenticationMethod::NoLogin => "off",
            _ => "on",
        };
        Ok(format!(
            "MongoDB {version}, {library}, cache {cache} GiB, access control {access_control}"
        ))
    }
}

/// True if there was as much as expected of what an arm asks for, and nothing of what it does not.
fn agrees(counted: u64, is_asked_for: bool, least: u64) -> bool {
    if is_asked_for {
        counted >= least
    } else {
        counted == 0
    }
}

/// How the default account logs in.
fn default_method(server: &PrivateServer) -> AuthenticationMethod {
    if server.user().is_empty() {
        AuthenticationMethod::NoLogin
    } else {
        server.entry().default_method()
    }
}

/// A connection in plaintext.
fn options(server: &PrivateServer, method: AuthenticationMethod) -> Result<ConnectOptions> {
    let account = server
        .account(method)
        .ok_or_else(|| format!("the server has no account for {method}"))?;
    let login = Login::by(method, &account.user, account.password.clone())
        .ok_or_else(|| format!("{method} is not MongoDB's"))?;
    let address = server.address();
    Ok(ConnectOptions::new(
        address.ip().to_string(),
        address.port(),
        login,
    ))
}
