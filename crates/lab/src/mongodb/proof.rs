//! Proof that an arm on MongoDB is what it says, before anything is measured.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_base::{Proof, SCHEMA, Witness};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Expectation, Login, Others, ServerCounters, Session, Verdict};
use ciphertax_wire::{Client, Session as _, WireError, Word};

use crate::proof::{self, Claim, Objection, ProofError, Provable, Proved, WrongLogins, proof};
use crate::server::family::Canary;

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
    wrong_logins: &WrongLogins,
    conditions: Conditions<'_>,
) -> Result<Proved, ProofError> {
    let is_by_certificate = matches!(options.login, Login::X509);
    let claim = Claim::<Session> {
        options,
        expectation,
        behind_pooler: None,
        unknown_client: conditions.unknown_client.filter(|_| is_by_certificate),
        wrong_logins,
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

    async fn open(claim: &Claim<'_, Self>, reactor: &Rc<Reactor>) -> Result<(Self, Option<Word>), Objection> {
        let (mut observer, _) = Self::connect(reactor, claim.options).await?;
        Self::warm_up(reactor, claim.options, 1).await?;
        let before = match ServerCounters::read(&mut observer).await {
            Err(error) if error.is_access_denied() => None,
            before => Some(before?),
        };
        let (session, _) = Self::connect(reactor, claim.options).await?;
        claim.expectation.check(&session).map_err(Objection::Disproved)?;
        let word = match (before, claim.others) {
            (None, _) => Word::Silent(
                "the account may not read its counters of TLS handshakes, which the role clusterMonitor allows"
                    .into(),
            ),
            (Some(_), Others::MayUseTls) => counted_among_others(claim, reactor, &mut observer).await?,
            (Some(before), others) => {
                let counted = ServerCounters::read(&mut observer).await?.since(&before);
                let speculative = is_speculative(claim.options);
                let checked = claim
                    .expectation
                    .check_counters(&counted, 1, speculative, others);
                checked.map_or_else(Word::Contradicts, |()| agreement(&counted, 1))
            }
        };
        let _ = observer.close().await;
        Ok((session, Some(word)))
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
        let write = rawdoc! { "insert": COLLECTION, "documents": [{ "by": "ciphertax" }], "$db": &*SCHEMA };
        let outcome = session.command(&write).await;
        if outcome.is_ok() {
            let removal = rawdoc! { "drop": COLLECTION, "$db": &*SCHEMA };
            session.command(&removal).await?;
        }
        let _ = session.close().await;
        let (claim, evidence) = match (&claim.options.login, outcome) {
            (Login::None, Ok(_)) => (
                "a write without a login succeeds",
                "one document was written and removed".to_owned(),
            ),
            // Another primary has been elected: nothing was tried.
            (Login::None, Err(error)) if error.is_not_primary() => return Err(error.into()),
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

/// Sessions that are opened at a time among those of others, but where they take longer than this.
const SESSIONS: u64 = 8;
const AT_MOST: Duration = Duration::from_secs(1);
/// How often they are opened until it is known what they are, and how long at most.
const ATTEMPTS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(10);
/// Times that as many TLS sessions of another kind have to come, and none in the quiet, so that they are no others'.
const NO_CHANCE: usize = 3;

/// The server's word where others use it: opens sessions several times, each time beside as long a quiet in which it opens
/// none, since others may open some as well.
async fn counted_among_others(
    claim: &Claim<'_, Session>,
    reactor: &Rc<Reactor>,
    observer: &mut Session,
) -> Result<Word, Objection> {
    let speculative = is_speculative(claim.options);
    let mut surplus = 0;
    let first = Instant::now();
    for _ in (0..ATTEMPTS).take_while(|_| first.elapsed() < PATIENCE) {
        Session::warm_up(reactor, claim.options, SESSIONS as usize).await?;
        let before = ServerCounters::read(observer).await?;
        let (began, mut sessions) = (Instant::now(), 0);
        while sessions < SESSIONS && began.elapsed() < AT_MOST {
            let (session, _) = Session::connect(reactor, claim.options).await?;
            session.close().await?;
            sessions += 1;
        }
        let after = ServerCounters::read(observer).await?;
        reactor.sleep_until(Instant::now() + began.elapsed()).await;
        let quiet = ServerCounters::read(observer).await?.since(&after);
        let ours = after.since(&before);
        match claim.expectation.decide(&ours, &quiet, sessions, speculative) {
            Verdict::Agrees => return Ok(agreement(&ours, sessions)),
            Verdict::Lacks(problem) => return Ok(Word::Contradicts(problem)),
            // Of fewer sessions as many of others may come by chance.
            Verdict::Surplus(problem) if sessions == SESSIONS => {
                surplus += 1;
                if surplus == NO_CHANCE {
                    return Ok(Word::Contradicts(format!(
                        "{problem}, for {sessions} sessions, and none comes while there are none: something between here and the \
                         server opens them, as stunnel does; connect to the server itself, or leave this arm out"
                    )));
                }
            }
            Verdict::Surplus(_) | Verdict::CannotTell => {}
        }
    }
    Ok(Word::Silent(
        "others open TLS sessions meanwhile, so its counters do not tell these apart".into(),
    ))
}

fn is_speculative(options: &ConnectOptions) -> bool {
    options.speculative && options.login != Login::None
}

/// The proof that `counted` is what so many sessions are.
fn agreement(counted: &ServerCounters, sessions: u64) -> Word {
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
    let words = match words.is_empty() {
        true => "no handshake and no login".to_owned(),
        false => words.join(", "),
    };
    let plural = if sessions == 1 { "" } else { "s" };
    let evidence = format!("{words}, of {sessions} session{plural}");
    let claim = "its counters of TLS handshakes and logins agree";
    Word::Agrees(proof(Witness::Server, claim, &evidence))
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
        "$db": &*SCHEMA,
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
