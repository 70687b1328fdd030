//! Proof that both sides of a pooler are what they should be: by what it says of a session that goes through it, on a console that
//! it answers for itself, and by a relay behind it.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{fs, io};

use ciphertax_base::Secret;
use ciphertax_base::{Proof, Witness};
use ciphertax_model::{AuthenticationMethod, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Method, ScramKeys, Session, TextRow};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};
use rustix::process::{Pid, Signal, kill_process};

use super::RunningPooler;
use super::settings::BY_RELAY;
use crate::accounts::Account;
use crate::error::Error;
use crate::postgresql::accounts::{SCRAM_ITERATIONS, scram};
use crate::proof::{self, Canary, HelperObjection, ProofError, proof, random_text};
use crate::relay::Relay;

/// How often it is asked whether it has read its settings again.
const LOOK: Duration = Duration::from_millis(5);

impl RunningPooler {
    /// Proves that sessions opened by `options` go through this pooler, and that both its sides are what they should be:
    /// by its own word on one of them, and by a canary that a relay between it and the server can read or not; not over a
    /// link, where no relay can be.
    ///
    /// # Errors
    /// Names the arm, and what contradicts it or keeps it from being tried.
    pub fn prove(&self, arm: &str, options: &ConnectOptions) -> Result<Vec<Proof>, ProofError> {
        proof::prove_helper(arm, "its pooler", async |reactor| {
            self.proofs(reactor, options).await
        })
    }

    async fn proofs(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
    ) -> Result<Vec<Proof>, HelperObjection> {
        let mut console = connect(reactor, &self.settings.console.reached_as(options)).await?;
        let mut proofs = vec![self.word(reactor, options, &mut console).await?];
        if self.is_within_reach {
            proofs.push(self.canary(reactor, options, &mut console).await?);
        }
        // Whether it can be closed is nobody's concern.
        let _ = console.close().await;
        Ok(proofs)
    }

    /// What it says of a session's two connections. Within a transaction they belong together, in whatever mode.
    async fn word(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        console: &mut Session,
    ) -> Result<Proof, HelperObjection> {
        let mut session = connect(reactor, options).await?;
        session.query("BEGIN").await?;
        let process = session.query("SELECT pg_catalog.pg_backend_pid()").await?;
        let process = process.first().map(|row| row.text(0)).unwrap_or_default();
        let clients = self.legs(console, "SHOW CLIENTS").await?;
        let servers = self.legs(console, "SHOW SERVERS").await?;
        session.query("ROLLBACK").await?;
        let _ = session.close().await;
        let unknown =
            || HelperObjection::Disproved(format!("{} does not know a session of it", self.settings.pooler));
        let mut servers = servers.into_iter();
        let server = servers
            .find(|server| server.process == process)
            .ok_or_else(unknown)?;
        let mut clients = clients.into_iter();
        let client = clients
            .find(|client| client.address == server.counterpart && client.user == options.user)
            .ok_or_else(unknown)?;
        client.check("from the client", self.settings.transport)?;
        server.check("to the server", self.server_transport())?;
        Ok(proof(
            Witness::Pooler,
            "a session goes through it as the arm says",
            &format!(
                "SHOW CLIENTS: {client}; SHOW SERVERS: {server}, linked to it, at process {process} of the server"
            ),
        ))
    }

    async fn legs(&self, console: &mut Session, question: &str) -> Result<Vec<Leg>, WireError> {
        let address = self.settings.version.column_of_address();
        let rows = console.query(question).await?;
        Ok(rows.iter().map(|row| Leg::of(row, address)).collect())
    }

    /// Sends a canary through a relay between it and the server, which it reaches by another name meanwhile.
    async fn canary(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        console: &mut Session,
    ) -> Result<Proof, HelperObjection> {
        let relay = Relay::start((Ipv4Addr::LOCALHOST, self.settings.server_port).into())?;
        let canary = random_text("canary")?;
        self.knows_relay(reactor, console, Some(relay.address())).await?;
        let by_relay = ConnectOptions {
            database: Some(BY_RELAY.into()),
            ..options.clone()
        };
        let mut session = connect(reactor, &by_relay).await?;
        let rows = session.query(&format!("SELECT '{canary}'")).await?;
        let is_back = rows.first().is_some_and(|row| row.text(0) == canary);
        let _ = session.close().await;
        self.knows_relay(reactor, console, None).await?;
        if !is_back {
            return Err(HelperObjection::Disproved(
                "a canary did not come back through its pooler".into(),
            ));
        }
        let seen = Canary {
            encrypted: self.server_transport().is_encrypted(),
            seen: relay.saw(canary.as_bytes())?,
            bytes: relay.bytes_seen(),
        };
        let seen = seen
            .verdict()
            .map_err(|problem| HelperObjection::Disproved(format!("behind its pooler {problem}")))?;
        Ok(Proof {
            claim: format!("behind the pooler {}", seen.claim),
            ..seen
        })
    }

    /// Tells it of a relay to the server, or that there is none any more, and waits until it knows.
    async fn knows_relay(
        &self,
        reactor: &Rc<Reactor>,
        console: &mut Session,
        relay: Option<SocketAddr>,
    ) -> Result<(), HelperObjection> {
        let path = self.settings.path(self.address);
        let text = self.settings.text(self.address, relay.map(|relay| relay.port()));
        fs::write(&path, text).map_err(Error::write(&path))?;
        let reload = |pid: Pid| kill_process(pid, Signal::HUP).map_err(io::Error::from);
        let pid = Pid::from_raw(self.pid().cast_signed());
        pid.map_or(Ok(()), reload).map_err(Error::write(&path))?;
        loop {
            let databases = console.query("SHOW DATABASES").await?;
            if databases.iter().any(|row| row.text(0) == BY_RELAY) == relay.is_some() {
                return Ok(());
            }
            reactor.sleep_until(Instant::now() + LOOK).await;
        }
    }
}

async fn connect(reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<Session, WireError> {
    Ok(Session::connect(reactor, options).await?.0)
}

/// A connection of the pooler, as it describes it.
#[derive(Debug)]
struct Leg {
    user: String,
    /// By which it is known to the pooler.
    address: String,
    /// The address of the connection that it is linked to.
    counterpart: String,
    /// The server's process, where it is a connection to the server.
    process: String,
    /// `TLSv1.3/TLS_AES_256_GCM_SHA384/ECDH=X25519`; empty for none.
    tls: String,
}

impl Leg {
    /// From a row with the address in this column.
    fn of(row: &TextRow, address: usize) -> Self {
        Self {
            user: row.text(1),
            address: row.text(address),
            counterpart: row.text(address + 1),
            process: row.text(address + 2),
            tls: row.text(address + 3),
        }
    }

    fn check(&self, leg: &str, expected: Transport) -> Result<(), HelperObjection> {
        let version = self.tls.split('/').next().unwrap_or_default();
        let is_as_expected = match expected.tls_version() {
            Some(expected) => version == expected.name(),
            None => expected.is_encrypted() != version.is_empty(),
        };
        match is_as_expected {
            true => Ok(()),
            false => Err(HelperObjection::Disproved(format!(
                "its pooler says that the connection {leg} is {self}; expected {expected}"
            ))),
        }
    }
}

/// `TLSv1.3/TLS_AES_256_GCM_SHA384/ECDH=X25519`, or that there is none.
impl std::fmt::Display for Leg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.tls.is_empty() { "no TLS" } else { &self.tls })
    }
}

/// The console's name among the databases.
pub(super) const CONSOLE_DATABASE: &str = "pgbouncer";

/// Who may look at it, and nobody else: the server does not know this one.
const CONSOLE_USER: &str = "ciphertax_console";

/// Who may look at a pooler's console.
#[derive(Debug)]
pub(super) struct Console(Account);

impl Console {
    /// With a password of its own.
    pub(super) fn new() -> crate::error::Result<Self> {
        let account = Account::with_password(CONSOLE_USER, AuthenticationMethod::ScramSha256)?;
        let verifier = scram(&account.password, SCRAM_ITERATIONS)?;
        Ok(Self(Account {
            verifier: Some(Secret::new(verifier)),
            ..account
        }))
    }

    /// Its account at the pooler.
    pub(super) fn account(&self) -> &Account {
        &self.0
    }

    /// The console of the pooler that a client connects to, over connections of the same kind.
    pub(super) fn reached_as(&self, client: &ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            user: self.0.user.clone(),
            password: self.0.password.clone(),
            database: Some(CONSOLE_DATABASE.into()),
            schema: None,
            settings: Vec::new(),
            method: Some(Method::ScramSha256),
            scram_keys: ScramKeys::Derived,
            ..client.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leg_is_what_it_should_be_and_nothing_else() {
        let of = |tls: &str| Leg {
            user: "a".into(),
            address: "0x1".into(),
            counterpart: "0x2".into(),
            process: "7".into(),
            tls: tls.into(),
        };
        let new = of("TLSv1.3/TLS_AES_256_GCM_SHA384/ECDH=X25519");
        for (leg, transport, is) in [
            (&new, Transport::Tls13, true),
            (&new, Transport::Tls, true),
            (&new, Transport::Tls12, false),
            (&new, Transport::Plain, false),
            (&of(""), Transport::Plain, true),
            (&of(""), Transport::Tls13, false),
            (&of(""), Transport::Tls, false),
        ] {
            assert_eq!(leg.check("", transport).is_ok(), is, "{leg}, {transport}");
        }
        assert_eq!(of("").to_string(), "no TLS");
    }
}
