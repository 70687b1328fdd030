//! Proof that an arm on MongoDB is what it says, before anything is measured.

use std::rc::Rc;
use std::time::Instant;

use ciphertax_model::Secret;
use ciphertax_reactor::Reactor;
use ciphertax_records::{Proof, Witness};
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{
    Account, ConnectOptions, Expectation, Login, Others, ScramKeys, ServerCounters, Session,
    authenticated_users,
};
use ciphertax_wire::{Protocol, WireError};

use crate::proof::{Canary, PATIENCE, ProofError, Proved, client_evidence, proof, random_text, resolve};
use crate::relay::Relay;

/// The database of ciphertax's own; nothing else is touched.
const DATABASE: &str = "ciphertax";

/// The collection that the proof of access control writes to, and removes.
const COLLECTION: &str = "ciphertax_proofs";

/// What a proof needs to know of the arm besides what its sessions must be.
#[derive(Clone, Copy, Default)]
pub struct Circumstances<'a> {
    /// Who else connects to the server and is counted too.
    pub others: Others,
    /// For logins by certificate: the same connection with a certificate of the same authority that no account has.
    pub stranger: Option<&'a ConnectOptions>,
}

/// Proves an arm by five witnesses: the client, the server, a relay that looks for a canary, a wrong password or
/// certificate, and a write without a login.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(
    arm: &str,
    options: &ConnectOptions,
    expectation: &Expectation,
    circumstances: Circumstances<'_>,
) -> Result<Proved, ProofError> {
    let prover = Prover {
        arm,
        options,
        expectation,
        circumstances,
    };
    let reactor = Reactor::new().map_err(|error| ProofError::no_session(arm, error.to_string()))?;
    match reactor.run_one(prover.prove(&reactor), Instant::now() + PATIENCE) {
        Ok(Some(proved)) => proved,
        Ok(None) => Err(ProofError::no_session(
            arm,
            format!("the server did not answer within {} s", PATIENCE.as_secs()),
        )),
        Err(error) => Err(ProofError::no_session(arm, error.to_string())),
    }
}

struct Prover<'a> {
    arm: &'a str,
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
    circumstances: Circumstances<'a>,
}

impl Prover<'_> {
    async fn prove(&self, reactor: &Rc<Reactor>) -> Result<Proved, ProofError> {
        let refused = |error| self.refused(&error);
        let mut observer = self.connect(reactor, self.options).await?;
        Session::warm_up(reactor, self.options, 1)
            .await
            .map_err(refused)?;
        let before = ServerCounters::read(&mut observer).await;
        let mut session = self.connect(reactor, self.options).await?;
        let after = ServerCounters::read(&mut observer).await;
        self.expectation
            .check(&session)
            .map_err(|problem| self.disproved(problem))?;
        let facts = session.facts().await.map_err(refused)?;
        let mut proofs = vec![proof(
            Witness::Client,
            "negotiated what the arm says",
            &client_evidence(&facts),
        )];
        proofs.extend(self.counters(before, after)?);
        proofs.push(self.user(&mut session).await?);
        for session in [session, observer] {
            let _ = session.close().await;
        }
        proofs.push(self.canary_on_the_wire(reactor).await?);
        proofs.extend(self.wrong_login(reactor).await?);
        proofs.push(self.write_without_login(reactor).await?);
        Ok(Proved {
            expectation: self.expectation.proved(&facts),
            proofs,
            facts,
        })
    }

    /// What the server counted while one session was opened; `None` if the account may not ask.
    fn counters(
        &self,
        before: Result<ServerCounters, WireError>,
        after: Result<ServerCounters, WireError>,
    ) -> Result<Option<Proof>, ProofError> {
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(error), _) | (_, Err(error)) if error.is_access_denied() => {
                return Ok(None);
            }
            (Err(error), _) | (_, Err(error)) => return Err(self.refused(&error)),
        };
        let counted = after.since(&before);
        let speculative = self.options.speculative && self.options.login != Login::None;
        self.expectation
            .check_counters(&counted, 1, speculative, self.circumstances.others)
            .map_err(|problem| self.disproved(problem))?;
        let handshakes = counted.handshakes.iter();
        let logins = counted.logins.iter();
        let words: Vec<String> = handshakes
            .filter(|(_, count)| **count > 0)
            .map(|(version, count)| format!("{count} of {version}"))
            .chain(
                logins
                    .filter(|(_, logins)| logins.successful > 0)
                    .map(|(mechanism, logins)| format!("{} by {mechanism}", logins.successful)),
            )
            .collect();
        let evidence = if words.is_empty() {
            "no handshake and no login".to_owned()
        } else {
            words.join(", ")
        };
        let claim = "its counters of TLS handshakes and logins agree";
        Ok(Some(proof(Witness::Server, claim, &evidence)))
    }

    /// Whom the server takes the session for.
    async fn user(&self, session: &mut Session) -> Result<Proof, ProofError> {
        let found = authenticated_users(session)
            .await
            .map_err(|error| self.refused(&error))?;
        let agrees = match &self.options.login {
            Login::None => found.is_empty(),
            Login::Scram(account) => found == [format!("{}@{}", account.user, account.source)],
            Login::X509 => matches!(&found[..], [user] if user.ends_with("@$external")),
        };
        let found = if found.is_empty() {
            "nobody".to_owned()
        } else {
            found.join(", ")
        };
        if !agrees {
            return Err(self.disproved(format!("the server takes the session for {found}")));
        }
        Ok(proof(Witness::Server, "knows who is logged in", &found))
    }

    /// A canary that can be read on the wire proves plain; one that cannot proves encrypted.
    async fn canary_on_the_wire(&self, reactor: &Rc<Reactor>) -> Result<Proof, ProofError> {
        let relay_failed = |source| ProofError::Relay {
            arm: self.arm.to_owned(),
            source,
        };
        let server = resolve(&self.options.host, self.options.port)
            .map_err(|problem| ProofError::no_session(self.arm, problem))?;
        let relay = Relay::start(server).map_err(relay_failed)?;
        let through_relay = ConnectOptions {
            host: relay.address().ip().to_string(),
            port: relay.address().port(),
            ..self.options.clone()
        };
        let canary = random_text("canary").map_err(relay_failed)?;
        let mut session = self.connect(reactor, &through_relay).await?;
        session
            .command(&question(&canary))
            .await
            .map_err(|error| self.refused(&error))?;
        let _ = session.close().await;
        Canary {
            encrypted: self.expectation.transport.is_encrypted(),
            seen: relay.saw(canary.as_bytes()).map_err(relay_failed)?,
            bytes: relay.bytes_seen(),
        }
        .verdict()
        .map_err(|problem| self.disproved(problem))
    }

    /// A server that lets anybody in would make the login cost nothing.
    async fn wrong_login(&self, reactor: &Rc<Reactor>) -> Result<Option<Proof>, ProofError> {
        let (what, wrong) = match (&self.options.login, self.circumstances.stranger) {
            (Login::None, _) | (Login::X509, None) => return Ok(None),
            (Login::X509, Some(stranger)) => ("a certificate of nobody", stranger.clone()),
            (Login::Scram(account), _) => {
                let wrong = Account {
                    password: Secret::new(format!("not{}", account.password.expose())),
                    ..account.clone()
                };
                let options = ConnectOptions {
                    login: Login::Scram(wrong),
                    scram_keys: ScramKeys::Derived,
                    ..self.options.clone()
                };
                ("a wrong password", options)
            }
        };
        match Session::connect(reactor, &wrong).await {
            Ok(_) => Err(self.disproved(format!("the server accepts {what}"))),
            Err(error) if error.is_access_denied() || is_of_nobody(&error) => Ok(Some(proof(
                Witness::Authentication,
                &format!("{what} is refused"),
                &error.to_string(),
            ))),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Access control is off if a write without a login succeeds, and on if it is refused.
    async fn write_without_login(&self, reactor: &Rc<Reactor>) -> Result<Proof, ProofError> {
        let anonymous = ConnectOptions {
            login: Login::None,
            ..self.options.clone()
        };
        let mut session = self.connect(reactor, &anonymous).await?;
        let write = rawdoc! { "insert": COLLECTION, "documents": [{ "by": "ciphertax" }], "$db": DATABASE };
        let outcome = session.command(&write).await;
        if outcome.is_ok() {
            let removal = rawdoc! { "drop": COLLECTION, "$db": DATABASE };
            session
                .command(&removal)
                .await
                .map_err(|error| self.refused(&error))?;
        }
        let _ = session.close().await;
        match (&self.options.login, outcome) {
            (Login::None, Ok(_)) => Ok(proof(
                Witness::AccessControl,
                "a write without a login succeeds",
                "one document was written and removed",
            )),
            // A secondary takes no writes, but says so only to those who may ask.
            (Login::None, Err(error)) if error.is_not_primary() => Ok(proof(
                Witness::AccessControl,
                "a write without a login is not refused for want of one",
                &error.to_string(),
            )),
            (Login::Scram(_) | Login::X509, Err(error)) if error.is_access_denied() => Ok(proof(
                Witness::AccessControl,
                "a write without a login is refused",
                &error.to_string(),
            )),
            (Login::None, Err(error)) => {
                Err(self.disproved(format!("a write without a login does not succeed: {error}")))
            }
            (Login::Scram(_) | Login::X509, Ok(_)) => {
                Err(self
                    .disproved("a write without a login succeeds: the server has no access control".into()))
            }
            (Login::Scram(_) | Login::X509, Err(error)) => Err(self.refused(&error)),
        }
    }

    async fn connect(&self, reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<Session, ProofError> {
        match Session::connect(reactor, options).await {
            Ok((session, _)) => Ok(session),
            Err(error) => Err(self.refused(&error)),
        }
    }

    fn refused(&self, error: &WireError) -> ProofError {
        ProofError::no_session(self.arm, format!("{error}{}", error.remedy(Protocol::MongoDb)))
    }

    fn disproved(&self, problem: String) -> ProofError {
        ProofError::disproved(self.arm, problem)
    }
}

/// True if the server knows no account of the certificate, which it says to its owner alone.
fn is_of_nobody(error: &WireError) -> bool {
    const USER_NOT_FOUND: i32 = 11;
    matches!(
        error,
        WireError::Command {
            code: USER_NOT_FOUND,
            ..
        }
    )
}

/// Looks for what is not there, on any member.
fn question(canary: &str) -> RawDocumentBuf {
    rawdoc! {
        "find": COLLECTION,
        "filter": { "canary": canary },
        "limit": 1_i32,
        "$db": DATABASE,
        "$readPreference": { "mode": "nearest" },
    }
}
