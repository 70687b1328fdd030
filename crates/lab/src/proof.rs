//! Proof that an arm is what it says, before anything is measured.

use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_base::{Proof, SessionFacts, Witness};
use ciphertax_reactor::Reactor;
use ciphertax_records::DiskRecord;
use ciphertax_wire::{Client, Endpoint, Expectation, Session, WireError};

use crate::error::Error;
use crate::files::hexadecimal;
use crate::relay::Relay;

/// How long the proof of one arm may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long one canary may take.
const CANARY_PATIENCE: Duration = Duration::from_secs(15);

const NOT_BACK: &str = "the canary did not come back from the server";

/// What an arm was proved to be.
#[derive(Debug, Clone)]
pub struct Proved {
    /// The evidence.
    pub proofs: Vec<Proof>,
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
    /// The relay could not be used.
    #[error("arm {arm} cannot be proved: {source}")]
    Relay {
        /// The arm.
        arm: String,
        /// Why.
        source: Error,
    },
}

/// Who vouches for an arm, besides what every client can say and be asked.
pub(crate) trait Witnesses {
    /// A session with the server.
    type Session: Client;

    /// What the server counted while a session was opened.
    type Counted;

    /// How the arm reaches the server.
    fn options(&self) -> &<Self::Session as Session>::Options;

    /// What every session must be.
    fn expectation(&self) -> &Expectation;

    /// What the server sees of it, where that is something else.
    fn expectation_of_server(&self) -> &Expectation {
        self.expectation()
    }

    /// Opens a session as the arm does.
    async fn open(&self, reactor: &Rc<Reactor>) -> Result<(Self::Session, Self::Counted), WireError>;

    /// What follows from what the server counted; `None` if it does not tell.
    fn counted(&self, counted: Self::Counted) -> Result<Option<Proof>, Objection>;

    /// Sends a text that the server has to look at; true if its answer shows that it did.
    async fn send(session: &mut Self::Session, canary: &str) -> Result<bool, WireError>;

    /// A login that must be refused, and what is wrong with it; `None` where there is none.
    fn wrong_login(&self) -> Option<(&'static str, <Self::Session as Session>::Options)> {
        Self::Session::with_wrong_secret(self.options())
    }

    /// True if the server refuses a login by this.
    fn is_refusal(error: &WireError) -> bool {
        error.is_access_denied()
    }

    /// What others have to say.
    async fn others(&self, _: &Rc<Reactor>) -> Result<Option<Proof>, Objection> {
        Ok(None)
    }
}

/// What keeps an arm from being proved.
pub(crate) enum Objection {
    /// Something could not be asked.
    Wire(WireError),
    /// A witness contradicts.
    Disproved(String),
}

impl From<WireError> for Objection {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

/// Proves an arm by its witnesses: the client, the server, a relay that looks for a canary, a login that must be
/// refused, and others that the database has.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub(crate) fn prove<W: Witnesses>(arm: &str, witnesses: &W) -> Result<Proved, ProofError> {
    let prover = Prover { arm, witnesses };
    let reactor = Reactor::new().map_err(|error| prover.no_session(error.to_string()))?;
    let deadline = Instant::now() + PATIENCE;
    match reactor.run_one(prover.prove(&reactor), deadline) {
        Ok(Some(proved)) => proved,
        Ok(None) => Err(prover.no_session(silence(PATIENCE))),
        Err(error) => Err(prover.no_session(error.to_string())),
    }
}

struct Prover<'a, W> {
    arm: &'a str,
    witnesses: &'a W,
}

impl<W: Witnesses> Prover<'_, W> {
    async fn prove(&self, reactor: &Rc<Reactor>) -> Result<Proved, ProofError> {
        let objected = |objection| self.objected(objection);
        let (facts, mut proofs) = self.both_sides(reactor).await.map_err(objected)?;
        proofs.push(self.canary_on_the_wire(reactor).await?);
        proofs.extend(self.wrong_login(reactor).await?);
        proofs.extend(self.witnesses.others(reactor).await.map_err(objected)?);
        Ok(Proved {
            expectation: self.witnesses.expectation().proved(&facts),
            proofs,
            facts,
        })
    }

    /// What client and server say of a session.
    async fn both_sides(&self, reactor: &Rc<Reactor>) -> Result<(SessionFacts, Vec<Proof>), Objection> {
        let (options, expectation) = (self.witnesses.options(), self.witnesses.expectation());
        let (mut session, counted) = self.witnesses.open(reactor).await?;
        expectation.check(&session).map_err(Objection::Disproved)?;
        let facts = session.facts().await?;
        let mut proofs = vec![client_evidence(&facts)];
        proofs.extend(self.witnesses.counted(counted)?);
        let by_server = session
            .check_by_server(options, self.witnesses.expectation_of_server())
            .await?;
        proofs.push(by_server.map_err(Objection::Disproved)?);
        let _ = session.close().await;
        Ok((facts, proofs))
    }

    /// A canary that can be read on the wire proves plain; one that cannot proves encrypted.
    async fn canary_on_the_wire(&self, reactor: &Rc<Reactor>) -> Result<Proof, ProofError> {
        let (host, port) = match W::Session::endpoint(self.witnesses.options()) {
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
        let relay_failed = |source| ProofError::Relay {
            arm: self.arm.to_owned(),
            source,
        };
        let server = resolve(host, port).map_err(|problem| self.no_session(problem))?;
        let relay = Relay::start(server).map_err(relay_failed)?;
        let canary = random_text("canary").map_err(relay_failed)?;
        let through_relay = at::<W>(self.witnesses.options(), relay.address());
        match exchange::<W>(reactor, &through_relay, &canary).await {
            Ok(true) => {}
            Ok(false) => return Err(self.disproved(NOT_BACK.into())),
            Err(error) => return Err(self.refused(&error)),
        }
        Canary {
            encrypted: self.witnesses.expectation().transport.is_encrypted(),
            seen: relay.saw(canary.as_bytes()).map_err(relay_failed)?,
            bytes: relay.bytes_seen(),
        }
        .verdict()
        .map_err(|problem| self.disproved(problem))
    }

    /// A server that lets anybody in would make the login cost nothing.
    async fn wrong_login(&self, reactor: &Rc<Reactor>) -> Result<Option<Proof>, ProofError> {
        let Some((what, wrong)) = self.witnesses.wrong_login() else {
            return Ok(None);
        };
        match W::Session::connect(reactor, &wrong).await {
            Ok(_) => Err(self.disproved(format!("the server accepts {what}"))),
            Err(error) if W::is_refusal(&error) => Ok(Some(proof(
                Witness::Authentication,
                &format!("{what} is refused"),
                &error.to_string(),
            ))),
            Err(error) => Err(self.refused(&error)),
        }
    }

    fn objected(&self, objection: Objection) -> ProofError {
        match objection {
            Objection::Wire(error) => self.refused(&error),
            Objection::Disproved(problem) => self.disproved(problem),
        }
    }

    fn refused(&self, error: &WireError) -> ProofError {
        self.no_session(with_remedy::<W>(error))
    }

    fn no_session(&self, problem: String) -> ProofError {
        ProofError::NoSession {
            arm: self.arm.to_owned(),
            problem,
        }
    }

    fn disproved(&self, problem: String) -> ProofError {
        ProofError::Disproved {
            arm: self.arm.to_owned(),
            problem,
        }
    }
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options`, which must be without TLS,
/// at the address it is given, and sends the canary.
pub(crate) fn canary_by<W: Witnesses>(
    options: <W::Session as Session>::Options,
) -> impl FnMut(SocketAddr, &str) -> Result<(), String> {
    move |address, canary| {
        let options = at::<W>(&options, address);
        let reactor = Reactor::new().map_err(|error| error.to_string())?;
        let is_back = reactor
            .run_one(
                exchange::<W>(&reactor, &options, canary),
                Instant::now() + CANARY_PATIENCE,
            )
            .map_err(|error| error.to_string())?
            .ok_or_else(|| silence(CANARY_PATIENCE))?
            .map_err(|error| with_remedy::<W>(&error))?;
        if is_back { Ok(()) } else { Err(NOT_BACK.into()) }
    }
}

/// Sends a canary on a session of its own; false if it did not come back.
async fn exchange<W: Witnesses>(
    reactor: &Rc<Reactor>,
    options: &<W::Session as Session>::Options,
    canary: &str,
) -> Result<bool, WireError> {
    let (mut session, _) = W::Session::connect(reactor, options).await?;
    let is_back = W::send(&mut session, canary).await?;
    let _ = session.close().await;
    Ok(is_back)
}

fn at<W: Witnesses>(
    options: &<W::Session as Session>::Options,
    address: SocketAddr,
) -> <W::Session as Session>::Options {
    W::Session::at(options, &address.ip().to_string(), address.port())
}

fn with_remedy<W: Witnesses>(error: &WireError) -> String {
    format!("{error}{}", error.remedy(W::Session::PROTOCOL))
}

fn silence(patience: Duration) -> String {
    format!("the server did not answer within {} s", patience.as_secs())
}

/// What a relay saw of a value that went through it.
pub(crate) struct Canary {
    /// Whether the connection is said to be encrypted.
    pub(crate) encrypted: bool,
    /// Whether the value could be read.
    pub(crate) seen: bool,
    /// What the relay saw in all, in bytes.
    pub(crate) bytes: u64,
}

impl Canary {
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
    let mut random = [0; 16];
    openssl::rand::rand_bytes(&mut random)?;
    Ok(format!("{begin}{}", hexadecimal(&random)))
}

/// The first address of a host, or what is wrong with it.
fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let mut addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{host}: {error}"))?;
    addresses.next().ok_or_else(|| format!("{host} has no address"))
}

/// What the client has to say of its own session.
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

pub(crate) fn proof(witness: Witness, claim: &str, evidence: &str) -> Proof {
    Proof {
        witness,
        claim: claim.to_owned(),
        evidence: evidence.to_owned(),
    }
}

/// How long all questions together may take.
const HELPER_PATIENCE: Duration = Duration::from_secs(30);

/// What keeps it from being proved.
pub(crate) enum HelperObjection {
    /// Something could not be asked.
    Wire(WireError),
    /// It or a relay beside it failed.
    Lab(Error),
    /// What was seen contradicts.
    Disproved(String),
}

impl From<WireError> for HelperObjection {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Error> for HelperObjection {
    fn from(error: Error) -> Self {
        Self::Lab(error)
    }
}

/// Has it proved on an event loop of its own. `name` is what it is called in a problem.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
///
/// A helper stands between client and server: a pooler, or a relay that encrypts cells.
pub(crate) fn prove_helper<T>(
    arm: &str,
    name: &str,
    proof: impl AsyncFnOnce(&Rc<Reactor>) -> Result<T, HelperObjection>,
) -> Result<T, ProofError> {
    let no_session = |problem: String| ProofError::NoSession {
        arm: arm.to_owned(),
        problem: format!("{name}: {problem}"),
    };
    let reactor = Reactor::new().map_err(|error| no_session(error.to_string()))?;
    let proved = reactor.run_one(proof(&reactor), Instant::now() + HELPER_PATIENCE);
    let proved = proved
        .map_err(|error| no_session(error.to_string()))?
        .ok_or_else(|| no_session(format!("no answer within {} s", HELPER_PATIENCE.as_secs())))?;
    proved.map_err(|objection| match objection {
        HelperObjection::Wire(error) => no_session(error.to_string()),
        HelperObjection::Lab(source) => ProofError::Relay {
            arm: arm.to_owned(),
            source,
        },
        HelperObjection::Disproved(problem) => ProofError::Disproved {
            arm: arm.to_owned(),
            problem,
        },
    })
}
