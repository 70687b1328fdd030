//! Proof that an arm is what it says, before anything is measured.

use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_model::{AuthenticationMethod, Secret};
use ciphertax_reactor::Reactor;
use ciphertax_records::{Proof, SessionFacts};
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::{Protocol, WireError};

use crate::accounts::hexadecimal;
use crate::error::Error;
use crate::relay::Relay;

/// How long the proof of one arm may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

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

impl ProofError {
    pub(crate) fn no_session(arm: &str, problem: String) -> Self {
        Self::NoSession {
            arm: arm.to_owned(),
            problem,
        }
    }

    pub(crate) fn disproved(arm: &str, problem: String) -> Self {
        Self::Disproved {
            arm: arm.to_owned(),
            problem,
        }
    }
}

/// Proves an arm by four witnesses: the client, the server, a relay that looks for a canary, and a wrong password.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(arm: &str, options: &ConnectOptions, expectation: &Expectation) -> Result<Proved, ProofError> {
    let prover = Prover {
        arm,
        options,
        expectation,
    };
    let reactor = Reactor::new().map_err(|error| prover.no_session(error.to_string()))?;
    let deadline = Instant::now() + PATIENCE;
    match reactor.run_one(prover.prove(&reactor), deadline) {
        Ok(Some(proved)) => proved,
        Ok(None) => Err(prover.no_session(format!(
            "the server did not answer within {} s",
            PATIENCE.as_secs()
        ))),
        Err(error) => Err(prover.no_session(error.to_string())),
    }
}

struct Prover<'a> {
    arm: &'a str,
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
}

impl Prover<'_> {
    async fn prove(&self, reactor: &Rc<Reactor>) -> Result<Proved, ProofError> {
        Session::warm_up(reactor, self.options, 1)
            .await
            .map_err(|error| self.refused(&error))?;
        let mut session = self
            .expectation
            .connect(reactor, self.options)
            .await
            .map_err(|error| self.refused(&error))?;
        self.expectation
            .check(&session)
            .map_err(|problem| self.disproved(problem))?;
        let facts = session.facts().map_err(|error| self.refused(&error))?;
        let word = self
            .expectation
            .check_status(&mut session)
            .await
            .map_err(|error| self.refused(&error))?
            .map_err(|problem| self.disproved(problem))?;
        let mut proofs = vec![
            proof("client", "negotiated what the arm says", &client_evidence(&facts)),
            proof(
                "server",
                "its status variables Ssl_version and Ssl_cipher agree",
                &if word.version.is_empty() {
                    "both empty".to_owned()
                } else {
                    format!("{} {}", word.version, word.cipher)
                },
            ),
        ];
        let _ = session.close().await;
        proofs.push(self.canary_on_the_wire(reactor).await?);
        proofs.push(self.wrong_password(reactor).await?);
        Ok(Proved {
            expectation: self.expectation.proved(&facts),
            proofs,
            facts,
        })
    }

    /// A canary that can be read on the wire proves plain; one that cannot proves encrypted.
    async fn canary_on_the_wire(&self, reactor: &Rc<Reactor>) -> Result<Proof, ProofError> {
        if let Some(socket) = &self.options.socket {
            // There is no wire to listen on; whether the session is in clear, both sides have said.
            return Ok(proof(
                "wire",
                "travels over a Unix socket, on this machine alone",
                &format!("connected to {}", socket.display()),
            ));
        }
        let relay_failed = |source| ProofError::Relay {
            arm: self.arm.to_owned(),
            source,
        };
        let relay = Relay::start(self.address()?).map_err(relay_failed)?;
        let through_relay = ConnectOptions {
            host: relay.address().ip().to_string(),
            port: relay.address().port(),
            ..self.options.clone()
        };
        let canary = random_text("canary").map_err(relay_failed)?;
        let (mut session, _) = Session::connect(reactor, &through_relay)
            .await
            .map_err(|error| self.refused(&error))?;
        let rows = session
            .query(&format!("SELECT '{canary}'"))
            .await
            .map_err(|error| self.refused(&error))?;
        if rows.first().map(|row| row.text(0)).as_deref() != Some(&canary) {
            return Err(self.disproved("the canary did not come back from the server".into()));
        }
        let _ = session.close().await;
        let seen = relay.saw(canary.as_bytes()).map_err(relay_failed)?;
        Canary {
            encrypted: self.expectation.transport.is_encrypted(),
            seen,
            bytes: relay.bytes_seen(),
        }
        .verdict()
        .map_err(|problem| self.disproved(problem))
    }

    /// A server that lets anybody in would make the login cost nothing.
    async fn wrong_password(&self, reactor: &Rc<Reactor>) -> Result<Proof, ProofError> {
        let right = self.options.clone();
        // By the kernel's word no password is sent, so there it is the user who must be wrong.
        let (what, wrong) = match self.options.authentication {
            Some(AuthenticationMethod::UnixSocket) => (
                "another user",
                ConnectOptions {
                    user: format!("not{}", right.user),
                    ..right
                },
            ),
            _ => (
                "a wrong password",
                ConnectOptions {
                    password: Secret::new(format!("not{}", right.password.expose())),
                    ..right
                },
            ),
        };
        match Session::connect(reactor, &wrong).await {
            Ok(_) => Err(self.disproved(format!("the server accepts {what}"))),
            Err(error) if error.is_access_denied() => Ok(proof(
                "authentication",
                &format!("{what} is refused"),
                &error.to_string(),
            )),
            Err(error) => Err(self.refused(&error)),
        }
    }

    fn address(&self) -> Result<SocketAddr, ProofError> {
        resolve(&self.options.host, self.options.port).map_err(|problem| self.no_session(problem))
    }

    fn refused(&self, error: &WireError) -> ProofError {
        self.no_session(format!("{error}{}", error.remedy(Protocol::MySql)))
    }

    fn no_session(&self, problem: String) -> ProofError {
        ProofError::no_session(self.arm, problem)
    }

    fn disproved(&self, problem: String) -> ProofError {
        ProofError::disproved(self.arm, problem)
    }
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
                "wire",
                "a canary value travels in clear",
                "a relay read it",
            )),
            (true, false) => Ok(proof(
                "wire",
                "a canary value does not travel in clear",
                &format!("a relay saw {} bytes and not the canary", self.bytes),
            )),
            (false, false) => Err("a relay could not read a canary value: the plain arm is encrypted".into()),
            (true, true) => Err("a relay read a canary value: the TLS arm travels in clear".into()),
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
pub(crate) fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let mut addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{host}: {error}"))?;
    addresses.next().ok_or_else(|| format!("{host} has no address"))
}

pub(crate) fn client_evidence(facts: &SessionFacts) -> String {
    match &facts.tls {
        None => "no TLS session".to_owned(),
        Some(tls) => format!(
            "{} {} {} {}",
            tls.version, tls.cipher, tls.group, tls.certificate.key
        ),
    }
}

pub(crate) fn proof(witness: &str, claim: &str, evidence: &str) -> Proof {
    Proof {
        witness: witness.to_owned(),
        claim: claim.to_owned(),
        evidence: evidence.to_owned(),
    }
}
