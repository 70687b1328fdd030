//! Proof that an arm on MongoDB is what it says, before anything is measured.

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use ciphertax_model::Secret;
use ciphertax_reactor::Reactor;
use ciphertax_records::{Proof, SessionFacts};
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{
    Account, ConnectOptions, Expectation, Login, Others, ScramKeys, ServerCounters, Session,
    authenticated_users,
};
use ciphertax_wire::{Protocol, WireError};

use crate::proof::{self, Objection, ProofError, Proved, Witnesses, client_evidence, proof};

/// The database of ciphertax's own; nothing else is touched.
const DATABASE: &str = "ciphertax";

/// The collection that the proof of access control writes to, and removes.
const COLLECTION: &str = "ciphertax_proofs";

/// The conditions under which an arm is proved, besides what its sessions must be.
#[derive(Clone, Copy, Default)]
pub struct Conditions<'a> {
    /// Who else connects to the server and is counted too.
    pub others: Others,
    /// For logins by certificate: the same connection with a certificate of the same authority that no account has.
    pub unknown_client: Option<&'a ConnectOptions>,
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
    conditions: Conditions<'_>,
) -> Result<Proved, ProofError> {
    let witnesses = MongoDbWitnesses {
        options,
        expectation,
        conditions,
    };
    proof::prove(arm, &witnesses)
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options` at the address it is given,
/// always without TLS, and looks for the canary, which is nowhere.
pub fn find_canary(options: &ConnectOptions) -> impl FnMut(SocketAddr, &str) -> Result<(), String> + use<> {
    proof::plaintext_canary::<MongoDbWitnesses<'static>>(options)
}

struct MongoDbWitnesses<'a> {
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
    conditions: Conditions<'a>,
}

impl Witnesses for MongoDbWitnesses<'_> {
    const PROTOCOL: Protocol = Protocol::MongoDb;
    type Options = ConnectOptions;
    type Session = Session;

    fn at(options: &ConnectOptions, address: SocketAddr) -> ConnectOptions {
        ConnectOptions {
            host: address.ip().to_string(),
            port: address.port(),
            ..options.clone()
        }
    }

    fn plaintext(options: &ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            tls: None,
            ..options.clone()
        }
    }

    async fn connect(reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<Session, WireError> {
        Ok(Session::connect(reactor, options).await?.0)
    }

    /// A search that finds nothing is answered by the server alone.
    async fn send(session: &mut Session, canary: &str) -> Result<bool, WireError> {
        session.command(&question(canary)).await.map(|_| true)
    }

    async fn close(session: Session) {
        let _ = session.close().await;
    }

    fn options(&self) -> &ConnectOptions {
        self.options
    }

    fn socket(&self) -> Option<&Path> {
        None
    }

    fn host(&self) -> (&str, u16) {
        (&self.options.host, self.options.port)
    }

    fn expectation(&self) -> &Expectation {
        self.expectation
    }

    async fn sides(&self, reactor: &Rc<Reactor>) -> Result<(SessionFacts, Vec<Proof>), Objection> {
        let mut observer = Self::connect(reactor, self.options).await?;
        Session::warm_up(reactor, self.options, 1).await?;
        let before = ServerCounters::read(&mut observer).await;
        let mut session = Self::connect(reactor, self.options).await?;
        let after = ServerCounters::read(&mut observer).await;
        self.expectation.check(&session).map_err(Objection::Disproved)?;
        let facts = session.facts().await?;
        let mut proofs = vec![client_evidence(&facts)];
        proofs.extend(self.counters(before, after)?);
        proofs.push(self.user(&mut session).await?);
        for session in [session, observer] {
            Self::close(session).await;
        }
        Ok((facts, proofs))
    }

    fn wrong_login(&self) -> Option<(&'static str, ConnectOptions)> {
        match (&self.options.login, self.conditions.unknown_client) {
            (Login::None, _) | (Login::X509, None) => None,
            (Login::X509, Some(unknown)) => Some(("a certificate of nobody", unknown.clone())),
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
                Some(("a wrong password", options))
            }
        }
    }

    fn is_refusal(error: &WireError) -> bool {
        error.is_access_denied() || is_of_nobody(error)
    }

    async fn others(&self, reactor: &Rc<Reactor>) -> Result<Vec<Proof>, Objection> {
        Ok(vec![self.write_without_login(reactor).await?])
    }
}

impl MongoDbWitnesses<'_> {
    /// What the server counted while one session was opened; `None` if the account may not ask.
    fn counters(
        &self,
        before: Result<ServerCounters, WireError>,
        after: Result<ServerCounters, WireError>,
    ) -> Result<Option<Proof>, Objection> {
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(error), _) | (_, Err(error)) if error.is_access_denied() => {
                return Ok(None);
            }
            (Err(error), _) | (_, Err(error)) => return Err(error.into()),
        };
        let counted = after.since(&before);
        let speculative = self.options.speculative && self.options.login != Login::None;
        self.expectation
            .check_counters(&counted, 1, speculative, self.conditions.others)
            .map_err(Objection::Disproved)?;
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
        Ok(Some(proof("server", claim, &evidence)))
    }

    /// Whom the server takes the session for.
    async fn user(&self, session: &mut Session) -> Result<Proof, Objection> {
        let found = authenticated_users(session).await?;
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
            return Err(Objection::Disproved(format!(
                "the server takes the session for {found}"
            )));
        }
        Ok(proof("server", "knows who is logged in", &found))
    }

    /// Access control is off if a write without a login succeeds, and on if it is refused.
    async fn write_without_login(&self, reactor: &Rc<Reactor>) -> Result<Proof, Objection> {
        let anonymous = ConnectOptions {
            login: Login::None,
            ..self.options.clone()
        };
        let mut session = Self::connect(reactor, &anonymous).await?;
        let write = rawdoc! { "insert": COLLECTION, "documents": [{ "by": "ciphertax" }], "$db": DATABASE };
        let outcome = session.command(&write).await;
        if outcome.is_ok() {
            let removal = rawdoc! { "drop": COLLECTION, "$db": DATABASE };
            session.command(&removal).await?;
        }
        let _ = session.close().await;
        match (&self.options.login, outcome) {
            (Login::None, Ok(_)) => Ok(proof(
                "access control",
                "a write without a login succeeds",
                "one document was written and removed",
            )),
            // A secondary takes no writes, but says so only to those who may ask.
            (Login::None, Err(error)) if error.is_not_primary() => Ok(proof(
                "access control",
                "a write without a login is not refused for want of one",
                &error.to_string(),
            )),
            (Login::Scram(_) | Login::X509, Err(error)) if error.is_access_denied() => Ok(proof(
                "access control",
                "a write without a login is refused",
                &error.to_string(),
            )),
            (Login::None, Err(error)) => Err(Objection::Disproved(format!(
                "a write without a login does not succeed: {error}"
            ))),
            (Login::Scram(_) | Login::X509, Ok(_)) => Err(Objection::Disproved(
                "a write without a login succeeds: the server has no access control".into(),
            )),
            (Login::Scram(_) | Login::X509, Err(error)) => Err(error.into()),
        }
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
