//! Proof that an arm on MongoDB is what it says, before anything is measured.

use std::net::SocketAddr;
use std::rc::Rc;

use ciphertax_base::{Proof, Witness};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Expectation, Login, Others, ServerCounters, Session};
use ciphertax_wire::{Client, Session as _, WireError};

use crate::proof::{self, Claim, Objection, ProofError, Provable, Proved, proof};
use crate::server::family::Canary;

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
    let is_by_certificate = matches!(options.login, Login::X509);
    let claim = Claim::<Session> {
        options,
        expectation,
        seen_by_server: None,
        unknown_client: conditions.unknown_client.filter(|_| is_by_certificate),
        others: conditions.others,
    };
    proof::prove(arm, &claim)
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options` at the address it is given,
/// always without TLS, and looks for the canary, which is nowhere.
pub fn find_canary(options: &ConnectOptions) -> impl FnMut(SocketAddr, &str) -> Result<(), String> + use<> {
    proof::canary_by::<Session>(ConnectOptions {
        tls: None,
        ..options.clone()
    })
}

impl Provable for Session {
    type Others = Others;

    async fn open(
        claim: &Claim<'_, Self>,
        reactor: &Rc<Reactor>,
    ) -> Result<(Self, Option<Proof>), Objection> {
        let (mut observer, _) = Self::connect(reactor, claim.options).await?;
        Self::warm_up(reactor, claim.options, 1).await?;
        let before = ServerCounters::read(&mut observer).await;
        let (session, _) = Self::connect(reactor, claim.options).await?;
        let after = ServerCounters::read(&mut observer).await;
        let _ = observer.close().await;
        claim.expectation.check(&session).map_err(Objection::Disproved)?;
        Ok((session, counted(claim, before, after)?))
    }

    /// A search that finds nothing is answered by the server alone.
    async fn send(&mut self, canary: &str) -> Result<bool, WireError> {
        self.command(&question(canary)).await.map(|_| true)
    }

    fn is_refusal(error: &WireError) -> bool {
        error.is_access_denied() || is_of_nobody(error)
    }

    /// Access control is off if a write without a login succeeds, and on if it is refused.
    async fn others(claim: &Claim<'_, Self>, reactor: &Rc<Reactor>) -> Result<Option<Proof>, Objection> {
        let anonymous = ConnectOptions {
            login: Login::None,
            ..claim.options.clone()
        };
        let (mut session, _) = Session::connect(reactor, &anonymous).await?;
        let write = rawdoc! { "insert": COLLECTION, "documents": [{ "by": "ciphertax" }], "$db": DATABASE };
        let outcome = session.command(&write).await;
        if outcome.is_ok() {
            let removal = rawdoc! { "drop": COLLECTION, "$db": DATABASE };
            session.command(&removal).await?;
        }
        let _ = session.close().await;
        let (claim, evidence) = match (&claim.options.login, outcome) {
            (Login::None, Ok(_)) => (
                "a write without a login succeeds",
                "one document was written and removed".to_owned(),
            ),
            // A secondary takes no writes, but says so only to those who may ask.
            (Login::None, Err(error)) if error.is_not_primary() => (
                "a write without a login is not refused for want of one",
                error.to_string(),
            ),
            (Login::Scram(_) | Login::X509, Err(error)) if error.is_access_denied() => {
                ("a write without a login is refused", error.to_string())
            }
            (Login::None, Err(error)) => {
                let problem = format!("a write without a login does not succeed: {error}");
                return Err(Objection::Disproved(problem));
            }
            (Login::Scram(_) | Login::X509, Ok(_)) => {
                let problem = "a write without a login succeeds: the server has no access control";
                return Err(Objection::Disproved(problem.into()));
            }
            (Login::Scram(_) | Login::X509, Err(error)) => return Err(error.into()),
        };
        Ok(Some(proof(Witness::AccessControl, claim, &evidence)))
    }
}

/// An account that may not ask is told nothing.
fn counted(
    claim: &Claim<'_, Session>,
    before: Result<ServerCounters, WireError>,
    after: Result<ServerCounters, WireError>,
) -> Result<Option<Proof>, Objection> {
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) | (_, Err(error)) if error.is_access_denied() => return Ok(None),
        (Err(error), _) | (_, Err(error)) => return Err(error.into()),
    };
    let counted = after.since(&before);
    let speculative = claim.options.speculative && claim.options.login != Login::None;
    claim
        .expectation
        .check_counters(&counted, 1, speculative, claim.others)
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
    Ok(Some(proof(Witness::Server, claim, &evidence)))
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

/// Of its own, so that it is gone without a trace.
const CANARY_DATABASE: &str = "ciphertax_canary";

/// What is written to a collection, and with all collections to the disk. What is replicated the primary puts together, and waits until
/// all members have it.
pub(super) fn canary_commands(canary: Canary<'_>, servers: usize) -> Vec<RawDocumentBuf> {
    match canary {
        Canary::Write(canary) => {
            let document = rawdoc! { "v": canary };
            vec![
                rawdoc! { "insert": "t", "documents": [document], "$db": CANARY_DATABASE },
                rawdoc! { "fsync": 1_i32, "$db": "admin" },
            ]
        }
        Canary::Replicate([first, second]) => {
            let update = rawdoc! {
                "q": { "_id": 1_i32 },
                "u": [{ "$set": { "v": { "$concat": [first, second] } } }],
                "upsert": true,
            };
            // There are six at most.
            let everywhere = rawdoc! { "w": servers as i32 };
            vec![
                rawdoc! { "update": "t", "updates": [update], "writeConcern": everywhere, "$db": CANARY_DATABASE },
            ]
        }
        Canary::Remove => vec![rawdoc! { "dropDatabase": 1_i32, "$db": CANARY_DATABASE }],
    }
}
