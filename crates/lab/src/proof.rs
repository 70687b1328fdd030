//! Proof that an arm is what it says, before anything is measured.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_base::{Proof, SessionFacts, Witness};
use ciphertax_model::Transport;
use ciphertax_reactor::Reactor;
use ciphertax_records::{DiskRecord, FilesOnDisk, Readability};
use ciphertax_wire::sql::SqlSession;
use ciphertax_wire::{Client, Endpoint, Expectation, WireError, Word, resolve};

use crate::error::Error;
use crate::files::random_digits;
use crate::relay::Relay;
use crate::server::{NO_ANSWER, ask_within};

const PATIENCE: Duration = Duration::from_secs(30);

/// How long one canary may take.
const CANARY_PATIENCE: Duration = Duration::from_secs(15);

const NOT_BACK: &str = "the canary did not come back from the server";

/// What an arm was proved to be.
#[derive(Debug, Clone)]
pub struct Proved {
    /// The evidence.
    pub proofs: Vec<Proof>,
    /// Why the server does not prove what TLS its sessions have; `None` if it does.
    pub unproved: Option<String>,
    /// What its session negotiated.
    pub facts: SessionFacts,
    /// What every further session must be.
    pub expectation: Expectation,
}

/// What the disk of an arm's server was proved to hold.
#[derive(Debug, Clone)]
pub struct ProvedAtRest {
    /// The evidence: the server's own word, and what a search found.
    pub proofs: Vec<Proof>,
    /// What stays readable.
    pub disk: DiskRecord,
}

/// Why an arm is not measured.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// No session that could be looked at.
    #[error("arm {arm} cannot be measured: {problem}")]
    NoSession {
        /// The arm.
        arm: String,
        /// What went wrong, with the remedy where there is one.
        problem: String,
    },
    /// A witness contradicts the arm.
    #[error("arm {arm} is not what it says: {problem}; nothing was measured")]
    Disproved {
        /// The arm.
        arm: String,
        /// What was expected and what was found.
        problem: String,
    },
}

/// The wrong logins on a server: one that is refused is enough for all arms that log in by its method.
#[derive(Debug)]
pub struct WrongLogins {
    /// What was refused, by method.
    refused: RefCell<BTreeMap<String, Proof>>,
    is_forbidden: bool,
    /// How long one may take to be refused.
    pub patience: Duration,
}

impl Default for WrongLogins {
    fn default() -> Self {
        Self::new(false)
    }
}

impl WrongLogins {
    /// Those on a server where none is to be made if they are forbidden.
    pub fn new(is_forbidden: bool) -> Self {
        Self {
            is_forbidden,
            refused: RefCell::default(),
            patience: Duration::from_secs(20),
        }
    }
}

/// What keeps an arm from being proved.
pub(crate) enum Objection {
    /// A session could not be opened or asked.
    Wire(WireError),
    /// Something else could not be tried.
    NotTried(String),
    /// A witness contradicts.
    Disproved(String),
}

impl From<WireError> for Objection {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Error> for Objection {
    fn from(error: Error) -> Self {
        Self::NotTried(error.to_string())
    }
}

impl Objection {
    /// Why this arm is not measured.
    pub(crate) fn of(self, arm: &str) -> ProofError {
        let arm = arm.to_owned();
        match self {
            Self::Wire(error) => ProofError::NoSession {
                arm,
                problem: error.to_string(),
            },
            Self::NotTried(problem) => ProofError::NoSession { arm, problem },
            Self::Disproved(problem) => ProofError::Disproved { arm, problem },
        }
    }

    /// The same, with what is said of what could not be asked.
    fn saying(self, say: impl FnOnce(&WireError) -> String) -> Self {
        match self {
            Self::Wire(error) => Self::NotTried(say(&error)),
            other => other,
        }
    }
}

/// A session by which an arm is proved, and who vouches for it besides what every client can say and be asked.
pub(crate) trait Provable: Client {
    /// Who else connects to the server meanwhile, where it counts that.
    type Others;

    /// Opens a session as the arm does. What follows from what the server counted meanwhile; `None` if it is asked otherwise.
    async fn open(claim: &Claim<'_, Self>, reactor: &Rc<Reactor>) -> Result<(Self, Option<Word>), Objection> {
        Self::warm_up(reactor, claim.options, 1).await?;
        let mut session = Self::connect_as(reactor, claim.options, claim.expectation).await?;
        session.override_settings().await?;
        Ok((session, None))
    }

    /// Sends a text that the server has to look at; true if its answer shows that it did.
    async fn send(&mut self, canary: &str) -> Result<bool, WireError>;

    fn is_refusal(error: &WireError) -> bool {
        error.is_access_denied()
    }

    /// Which session of the server answers behind a pooler, from where, and what TLS the server says that it has.
    async fn behind_pooler(&mut self) -> Result<[String; 3], WireError> {
        Ok(Default::default())
    }

    /// What others have to say.
    async fn others(_: &Claim<'_, Self>, _: &Rc<Reactor>) -> Result<Option<Proof>, Objection> {
        Ok(None)
    }
}

/// What an arm says of its sessions.
pub(crate) struct Claim<'a, S: Provable> {
    /// How it reaches the server.
    pub(crate) options: &'a S::Options,
    pub(crate) expectation: &'a Expectation,
    /// How a pooler reaches the server for it, which is what the server sees.
    pub(crate) behind_pooler: Option<Transport>,
    /// For logins by certificate: the same connection with a certificate of the same authority that no account has.
    pub(crate) unknown_client: Option<&'a S::Options>,
    pub(crate) wrong_logins: &'a WrongLogins,
    pub(crate) others: S::Others,
}

/// For [`Provable::send`] of databases that speak SQL.
pub(crate) async fn select(session: &mut impl SqlSession, canary: &str) -> Result<bool, WireError> {
    let rows = session.query(&format!("SELECT '{canary}'")).await?;
    Ok(rows.first().is_some_and(|row| row.text(0) == canary))
}

/// For [`Provable::behind_pooler`]: within a transaction a session keeps its connection to the server, in whatever mode.
pub(crate) async fn ask_behind_pooler(
    session: &mut impl SqlSession,
    question: &str,
) -> Result<[String; 3], WireError> {
    session.command("BEGIN").await?;
    let rows = session.query(question).await?;
    Ok([0, 1, 2].map(|column| rows.first().map(|row| row.text(column)).unwrap_or_default()))
}

/// Proves an arm by its witnesses: the client, the server, a relay that looks for a canary, a login that must be
/// refused, and others that the database has.
pub(crate) fn prove<S: Provable>(arm: &str, claim: &Claim<'_, S>) -> Result<Proved, ProofError> {
    ask_within(PATIENCE, NO_ANSWER, async |reactor| claim.prove(reactor).await)
        .unwrap_or_else(|problem| Err(Objection::NotTried(problem)))
        .map_err(|objection| objection.saying(with_remedy::<S>).of(arm))
}

impl<S: Provable> Claim<'_, S> {
    async fn prove(&self, reactor: &Rc<Reactor>) -> Result<Proved, Objection> {
        let (facts, mut proofs, unproved) = self.both_sides(reactor).await?;
        proofs.push(self.canary_on_the_wire(reactor).await?);
        proofs.extend(self.wrong_login(reactor, &facts.authentication.method).await?);
        proofs.extend(S::others(self, reactor).await?);
        Ok(Proved {
            expectation: Expectation {
                is_said_by_server: Some(unproved.is_none()),
                ..self.expectation.proved(&facts)
            },
            proofs,
            unproved,
            facts,
        })
    }

    /// What client and server say of a session, and why the server says nothing, if so.
    async fn both_sides(
        &self,
        reactor: &Rc<Reactor>,
    ) -> Result<(SessionFacts, Vec<Proof>, Option<String>), Objection> {
        let (mut session, counted) = S::open(self, reactor).await?;
        self.expectation.check(&session).map_err(Objection::Disproved)?;
        let facts = session.facts().await?;
        let mut proofs = vec![client_evidence(&facts)];
        let behind = self.behind_pooler.map(Expectation::new);
        let seen_by_server = behind.as_ref().unwrap_or(self.expectation);
        let by_server = session.check_by_server(self.options, seen_by_server).await?;
        let mut unproved = None;
        for word in counted.into_iter().chain([by_server]) {
            match word {
                Word::Agrees(proof) => proofs.push(proof),
                Word::Contradicts(problem) => return Err(Objection::Disproved(problem)),
                Word::Silent(why) => unproved = Some(why),
            }
        }
        let _ = session.close().await;
        Ok((facts, proofs, unproved))
    }

    /// A canary that can be read on the wire proves plain; one that cannot proves encrypted.
    async fn canary_on_the_wire(&self, reactor: &Rc<Reactor>) -> Result<Proof, Objection> {
        let (host, port) = match S::endpoint(self.options) {
            Endpoint::Tcp(host, port) => (host, port),
            // There is no wire to listen on; whether the session is encrypted, both sides have said.
            Endpoint::Unix(socket) => {
                return Ok(proof(
                    Witness::Wire,
                    "travels over a Unix socket, on this machine alone",
                    &format!("connected to {}", socket.display()),
                ));
            }
        };
        // The one that the session was opened to.
        let server = resolve(host, port)?[0];
        let relay = Relay::start(server)?;
        let canary = random_text("canary")?;
        if !exchange::<S>(reactor, self.options, relay.address(), &canary).await? {
            return Err(Objection::Disproved(NOT_BACK.into()));
        }
        let encrypted = self.expectation.transport.is_encrypted();
        let canary = Canary::seen_by(&relay, &canary, encrypted)?;
        canary.verdict().map_err(Objection::Disproved)
    }

    /// A server that lets anybody in would make the login cost nothing.
    async fn wrong_login(&self, reactor: &Rc<Reactor>, method: &str) -> Result<Option<Proof>, Objection> {
        let of_nobody = self
            .unknown_client
            .map(|unknown| ("a certificate of nobody", unknown.clone()));
        let wrong = of_nobody.or_else(|| S::with_wrong_secret(self.options));
        let Some((what, wrong)) = wrong.filter(|_| !self.wrong_logins.is_forbidden) else {
            return Ok(None);
        };
        if let Some(proof) = self.wrong_logins.refused.borrow().get(method) {
            return Ok(Some(Proof {
                evidence: format!("{}; tried once for all arms of this method", proof.evidence),
                ..proof.clone()
            }));
        }
        let deadline = Instant::now() + self.wrong_logins.patience;
        let Some(outcome) = reactor.until(deadline, S::connect(reactor, &wrong)).await else {
            return Err(Objection::NotTried(format!(
                "{what}, which is to prove the login, was not answered within {} s: a server that delays wrong logins \
                 (auth_delay, connection control) takes runs with --no-wrong-logins",
                self.wrong_logins.patience.as_secs()
            )));
        };
        let refusal = match outcome {
            Ok(_) => return Err(Objection::Disproved(format!("the server accepts {what}"))),
            Err(error) if S::is_refusal(&error) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        self.log_in_again(reactor, what).await?;
        let proof = proof(Witness::Authentication, &format!("{what} is refused"), &refusal);
        let mut refused = self.wrong_logins.refused.borrow_mut();
        Ok(Some(refused.entry(method.to_owned()).or_insert(proof).clone()))
    }

    /// A right login has servers forget the wrong one that they counted; if they refuse it, the wrong one has locked the account.
    async fn log_in_again(&self, reactor: &Rc<Reactor>, what: &str) -> Result<(), Objection> {
        match S::connect(reactor, self.options).await {
            Ok((session, _)) => {
                let _ = session.close().await;
                Ok(())
            }
            Err(error) if error.is_access_denied() => Err(Objection::NotTried(format!(
                "{what}, by which ciphertax proves the login, has locked the account: {}; then run with --no-wrong-logins",
                with_remedy::<S>(&error)
            ))),
            Err(error) => Err(error.into()),
        }
    }
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options`, which must be without TLS,
/// at the address it is given, and sends the canary.
pub(crate) fn canary_by<S: Provable>(
    options: S::Options,
) -> impl FnMut(SocketAddr, &str) -> Result<(), String> {
    move |address, canary| {
        let is_back = ask_within(CANARY_PATIENCE, NO_ANSWER, async |reactor| {
            exchange::<S>(reactor, &options, address, canary).await
        })?;
        match is_back.map_err(|error| with_remedy::<S>(&error))? {
            true => Ok(()),
            false => Err(NOT_BACK.into()),
        }
    }
}

/// Sends a canary on a session of its own to this address; false if it did not come back.
pub(crate) async fn exchange<S: Provable>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    address: SocketAddr,
    canary: &str,
) -> Result<bool, WireError> {
    let options = S::through(options, address);
    let (mut session, _) = S::connect(reactor, &options).await?;
    let is_back = session.send(canary).await?;
    let _ = session.close().await;
    Ok(is_back)
}

fn with_remedy<S: Client>(error: &WireError) -> String {
    format!("{error}{}", error.remedy(S::PROTOCOL))
}

/// What a relay saw of a value that went through it.
pub(crate) struct Canary {
    encrypted: bool,
    seen: bool,
    /// What the relay saw in all, in bytes.
    bytes: u64,
}

impl Canary {
    /// What a relay saw of this value, on a connection that is said to be `encrypted` or not.
    pub(crate) fn seen_by(relay: &Relay, value: &str, encrypted: bool) -> Result<Self, Error> {
        Ok(Self {
            encrypted,
            seen: relay.saw(value.as_bytes())?,
            bytes: relay.bytes_seen(),
        })
    }

    /// The proof that the connection is what it is said to be, or what it is instead.
    pub(crate) fn verdict(&self) -> Result<Proof, String> {
        match (self.encrypted, self.seen) {
            (_, false) if self.bytes == 0 => Err("the session did not go through the relay".into()),
            (false, true) => Ok(proof(
                Witness::Wire,
                "a canary value travels in plaintext",
                "a relay read it",
            )),
            (true, false) => Ok(proof(
                Witness::Wire,
                "a canary value does not travel in plaintext",
                &format!("a relay saw {} bytes and not the canary", self.bytes),
            )),
            (false, false) => Err("a relay could not read a canary value: the plain arm is encrypted".into()),
            (true, true) => Err("a relay read a canary value: the TLS arm travels in plaintext".into()),
        }
    }
}

/// A text that is nowhere else.
pub(crate) fn random_text(begin: &str) -> Result<String, Error> {
    Ok(format!("{begin}{}", random_digits::<16>()?))
}

fn client_evidence(facts: &SessionFacts) -> Proof {
    let evidence = match &facts.tls {
        None => "no TLS session".to_owned(),
        Some(tls) => format!(
            "{} {} {} {}",
            tls.version, tls.cipher, tls.group, tls.certificate.key
        ),
    };
    proof(Witness::Client, "negotiated what the arm says", &evidence)
}

/// What is recorded of a kind of files that are all encrypted, or all readable.
pub(crate) fn files_on_disk(kind: &str, is_encrypted: bool) -> FilesOnDisk {
    FilesOnDisk {
        kind: kind.into(),
        readability: match is_encrypted {
            true => Readability::Encrypted,
            false => Readability::Readable,
        },
    }
}

pub(crate) fn proof(witness: Witness, claim: &str, evidence: &str) -> Proof {
    Proof {
        witness,
        claim: claim.to_owned(),
        evidence: evidence.to_owned(),
    }
}

/// Has what stands between client and server proved on an event loop of its own: a pooler, or a relay that encrypts cells. `name` is
/// what it is called in a problem.
pub(crate) fn prove_helper<T>(
    arm: &str,
    name: &str,
    proof: impl AsyncFnOnce(&Rc<Reactor>) -> Result<T, Objection>,
) -> Result<T, ProofError> {
    let named = |problem: String| format!("{name}: {problem}");
    ask_within(PATIENCE, NO_ANSWER, async |reactor| proof(reactor).await)
        .unwrap_or_else(|problem| Err(Objection::NotTried(named(problem))))
        .map_err(|objection| objection.saying(|error| named(error.to_string())).of(arm))
}
