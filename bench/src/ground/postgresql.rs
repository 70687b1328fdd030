//! A private PostgreSQL, and its word on who was there.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_lab::postgresql::DATABASE;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder, install};
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache};
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Method, ScramKeys, Session};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_workload::dataset::{self, Contents, SCHEMA};
use ciphertax_workload::postgresql::PostgresqlAccess;

use super::{PATIENCE, finish};
use crate::Result;

/// A private PostgreSQL, and a session to ask it things.
pub struct PostgresqlGround {
    reactor: Rc<Reactor>,
    control: Session,
    /// The server itself.
    pub server: PrivateServer,
}

impl PostgresqlGround {
    /// Starts this server, which is fetched first where the system has none.
    ///
    /// # Errors
    /// If it cannot be had, or refuses.
    pub fn prepare(server: PrivateServerBuilder) -> Result<Self> {
        install(&POSTGRESQL, &AtomicBool::new(false), &mut |_| {})?;
        eprintln!("starting a private PostgreSQL …");
        let server = server.start()?;
        let reactor = Reactor::new()?;
        let options = options(&server, server.default_account().method)?;
        let (control, _) = finish(&reactor, PATIENCE, Session::connect(&reactor, &options))??;
        Ok(Self {
            reactor,
            control,
            server,
        })
    }

    /// How so many connections at a time of an arm reach the server, and what their sessions must be.
    ///
    /// # Errors
    /// If the server has no account for the arm's method, or TLS cannot be prepared.
    pub fn access(&self, arm: &Arm, connections: usize) -> Result<PostgresqlAccess> {
        let authentication = &arm.authentication;
        let method = authentication
            .method
            .ok_or("an arm of a benchmark says how it logs in")?;
        let options = options(&self.server, method)?;
        let tls = match arm.transport.is_encrypted() {
            false => None,
            true => {
                let ca_file = self.server.ca_file().ok_or("the server has no certificate")?;
                let verification = Verification::HostName(ca_file.to_owned(), options.host.clone());
                Some(Arc::new(TlsConnector::new(&TlsPolicy {
                    library: arm.tls.library,
                    ..TlsPolicy::new(arm.transport.tls_version(), verification)
                })?))
            }
        };
        Ok(PostgresqlAccess {
            options: ConnectOptions {
                schema: Some(SCHEMA.to_owned()),
                tls,
                scram_keys: match authentication.password_cache {
                    PasswordCache::Warm => ScramKeys::kept(),
                    PasswordCache::Cold => ScramKeys::Derived,
                },
                ..options
            },
            expectation: Expectation::of(arm),
            connections,
            is_pooled: false,
            columns: None,
        })
    }

    /// Makes tables as ciphertax does, as the account of this method, and tells how long that took.
    ///
    /// # Errors
    /// If the server refuses.
    pub fn load(&self, method: AuthenticationMethod, contents: impl Into<Contents>) -> Result<Duration> {
        let contents = contents.into();
        let options = options(&self.server, method)?;
        let began = Instant::now();
        let mut opened = Vec::new();
        let task =
            dataset::prepare_contents::<Session>(&self.reactor, &options, &contents, &mut opened, |_| ());
        finish(&self.reactor, contents.patience(), task)??;
        Ok(began.elapsed())
    }

    /// Runs statements, and returns the first value of the last one's first row; empty if it has none.
    ///
    /// # Errors
    /// The server's own.
    pub fn ask(&mut self, sql: &str) -> Result<String> {
        let Self { reactor, control, .. } = self;
        let rows = finish(reactor, PATIENCE, control.query(sql))??;
        Ok(rows.last().map_or(String::new(), |row| row.text(0)))
    }

    /// Sessions that there were since the server started, in the only database that has any.
    ///
    /// # Errors
    /// The server's own.
    pub fn sessions(&mut self) -> Result<u64> {
        let count = format!("SELECT sessions FROM pg_stat_database WHERE datname = '{DATABASE}'");
        Ok(self.ask(&count)?.parse()?)
    }

    /// Makes sure by the server's word that there were so many sessions at least since it had counted `before`: it counts
    /// a session a moment after it has ended.
    ///
    /// # Errors
    /// Says what was counted.
    pub fn check_sessions_since(&mut self, before: u64, sessions: u64) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let counted = self.sessions()? - before;
            if counted >= sessions {
                return Ok(());
            }
            if Instant::now() > deadline {
                let problem = format!("{sessions} connections are said, the server counted {counted}");
                return Err(format!("{problem}: is there a pool?").into());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Which server it is.
    ///
    /// # Errors
    /// The server's own.
    pub fn identity(&mut self) -> Result<String> {
        let version = self.ask("SHOW server_version")?;
        let buffers = self.ask("SHOW shared_buffers")?;
        Ok(format!("PostgreSQL {version}, shared_buffers {buffers}"))
    }
}

/// A connection in plaintext.
fn options(server: &PrivateServer, method: AuthenticationMethod) -> Result<ConnectOptions> {
    let account = server
        .account(method)
        .ok_or_else(|| format!("the server has no account for {method}"))?;
    let address = server.address();
    let host = address.ip().to_string();
    Ok(ConnectOptions {
        database: Some(DATABASE.to_owned()),
        method: Method::called(method.name()),
        ..ConnectOptions::new(host, address.port(), &account.user, account.password.clone())
    })
}
