//! A private PostgreSQL, and its word on who was there.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_lab::postgresql::DATABASE;
use ciphertax_model::{Arm, AuthenticationMethod, CertificateKind};
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Method, Session};
use ciphertax_wire::tls::TlsPolicy;
use ciphertax_workload::dataset::SCHEMA;
use ciphertax_workload::postgresql::PostgresqlAccess;

use super::{Ground, PATIENCE, account, fetch, method, scram_keys, tls};
use crate::Result;

/// A private PostgreSQL, and a session to ask it things.
pub type PostgresqlGround = Ground<Session>;

impl PostgresqlGround {
    /// Starts a server with accounts for logins by `trust` and SCRAM, which is fetched first where the system has none.
    pub fn prepare() -> Result<Self> {
        fetch(&POSTGRESQL)?;
        eprintln!("starting a private PostgreSQL …");
        let server = PrivateServer::builder(&POSTGRESQL)
            .certificate(CertificateKind::EcdsaP256)
            .account(AuthenticationMethod::Trust)
            .account(AuthenticationMethod::ScramSha256Plus);
        let mut ground = Self::start(server, |server| options(server, server.default_account().method))?;
        let version = ground.ask("SHOW server_version")?;
        let buffers = ground.ask("SHOW shared_buffers")?;
        ground.identity = format!("PostgreSQL {version}, shared_buffers {buffers}");
        Ok(ground)
    }

    /// How so many connections at a time of an arm reach the server, and what their sessions must be.
    pub fn access(&self, arm: &Arm, connections: usize) -> Result<PostgresqlAccess> {
        let options = options(&self.server, method(arm)?)?;
        let tls = tls(arm.transport, self.server.ca_file(), &options.host, |policy| {
            TlsPolicy {
                library: arm.tls.library,
                ..policy
            }
        })?;
        Ok(PostgresqlAccess {
            options: ConnectOptions {
                schema: Some(SCHEMA.to_owned()),
                tls,
                scram_keys: scram_keys(arm),
                ..options
            },
            expectation: Expectation::of(arm),
            connections,
            is_pooled: false,
            columns: None,
        })
    }

    /// Sessions that there were since the server started, in the only database that has any.
    pub fn sessions(&mut self) -> Result<u64> {
        let count = format!("SELECT sessions FROM pg_stat_database WHERE datname = '{DATABASE}'");
        Ok(self.ask(&count)?.parse()?)
    }

    /// Makes sure by the server's word that there were so many sessions at least since it had counted `before`: it counts
    /// a session a moment after it has ended.
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
}

/// A connection in plaintext.
fn options(server: &PrivateServer, method: AuthenticationMethod) -> Result<ConnectOptions> {
    let account = account(server, method)?;
    let address = server.address();
    let host = address.ip().to_string();
    Ok(ConnectOptions {
        database: Some(DATABASE.to_owned()),
        method: Method::called(method.name()),
        ..ConnectOptions::new(host, address.port(), &account.user, account.password.clone())
    })
}
