//! A private MongoDB, and its word on who was there.

use ciphertax_lab::catalogue::MONGODB;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_model::{Arm, AuthenticationMethod, ReadPreference};
use ciphertax_wire::mongodb::bson::raw::RawDocument;
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Expectation, Login, ServerCounters, Session};
use ciphertax_wire::tls::{ClientCertificate, TlsPolicy};
use ciphertax_workload::mongodb::MongodbAccess;

use super::{Ground, PATIENCE, account, fetch, finish, method, scram_keys, tls};
use crate::Result;

/// A private MongoDB, and a session to ask it things.
pub type MongodbGround = Ground<Session>;

impl MongodbGround {
    /// Starts this server, and fetches it before if it is not there.
    pub fn prepare(server: PrivateServerBuilder) -> Result<Self> {
        fetch(&MONGODB)?;
        eprintln!("starting a private MongoDB …");
        let mut ground = Self::start(server, |server| options(server, server.default_account().method))?;
        let build = ground.command(&rawdoc! { "buildInfo": 1_i32, "$db": "admin" })?;
        let version = build.get_str("version")?;
        let library = build.get_document("openssl")?.get_str("running")?;
        let cache = &ground.server.settings()["wiredTigerCacheSizeGB"];
        let access_control = match ground.server.user() {
            "" => "off",
            _ => "on",
        };
        ground.identity =
            format!("MongoDB {version}, {library}, cache {cache} GiB, access control {access_control}");
        Ok(ground)
    }

    /// How so many connections at a time of an arm reach the server, and what their sessions must be.
    pub fn access(&self, arm: &Arm, connections: usize) -> Result<MongodbAccess> {
        let method = method(arm)?;
        let client_certificate = match method {
            AuthenticationMethod::MongodbX509 => self.server.client_certificate(Default::default())?,
            _ => None,
        };
        let options = options(&self.server, method)?;
        let tls = tls(arm.transport, self.server.ca_file(), &options.host, |policy| {
            TlsPolicy {
                cipher: arm.tls.cipher.clone(),
                library: arm.tls.library,
                client_certificate: client_certificate.map(|files| ClientCertificate {
                    certificate: files.certificate,
                    key: files.key,
                    password: None,
                }),
                ..policy
            }
        })?;
        Ok(MongodbAccess {
            options: ConnectOptions {
                tls,
                scram_keys: scram_keys(arm),
                speculative: arm.authentication.speculative,
                ..options
            },
            seeds: Vec::new(),
            routes: Vec::new(),
            expectation: Expectation::of(arm),
            connections,
            read_preference: ReadPreference::Primary,
        })
    }

    /// What a command answers; it names its database as `$db`.
    pub fn command(&mut self, command: &RawDocument) -> Result<RawDocumentBuf> {
        Ok(finish(&self.reactor, PATIENCE, self.control.command(command))??)
    }

    /// What the server counted since it started.
    pub fn counters(&mut self) -> Result<ServerCounters> {
        let task = ServerCounters::read(&mut self.control);
        Ok(finish(&self.reactor, PATIENCE, task)??)
    }

    /// Makes sure by the server's word that since `before` an arm made `connections` connections at least, all of its
    /// transport and all logged in as it says.
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
}

/// True if there was as much as expected of what an arm asks for, and nothing of what it does not.
fn agrees(counted: u64, is_asked_for: bool, least: u64) -> bool {
    if is_asked_for {
        counted >= least
    } else {
        counted == 0
    }
}

/// A connection in plaintext.
fn options(server: &PrivateServer, method: AuthenticationMethod) -> Result<ConnectOptions> {
    let account = account(server, method)?;
    let login = Login::by(method, &account.user, account.password.clone())
        .ok_or_else(|| format!("{method} is not MongoDB's"))?;
    let address = server.address();
    Ok(ConnectOptions::new(
        address.ip().to_string(),
        address.port(),
        login,
    ))
}
