//! Proof that an arm on MySQL-compatible servers is what it says.

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use ciphertax_model::{AuthenticationMethod, Secret};
use ciphertax_reactor::Reactor;
use ciphertax_records::{Proof, SessionFacts};
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::{Protocol, WireError};

use crate::proof::{self, Objection, ProofError, Proved, Witnesses, client_evidence, proof};

/// Proves an arm by four witnesses: the client, the server, a relay that looks for a canary, and a wrong password.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(arm: &str, options: &ConnectOptions, expectation: &Expectation) -> Result<Proved, ProofError> {
    let witnesses = MySqlWitnesses { options, expectation };
    proof::prove(arm, &witnesses)
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options` at the address it is given,
/// always without TLS, and selects the canary.
pub fn select_canary(options: &ConnectOptions) -> impl FnMut(SocketAddr, &str) -> Result<(), String> + use<> {
    proof::plaintext_canary::<MySqlWitnesses<'static>>(options)
}

struct MySqlWitnesses<'a> {
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
}

impl Witnesses for MySqlWitnesses<'_> {
    const PROTOCOL: Protocol = Protocol::MySql;
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

    async fn send(session: &mut Session, canary: &str) -> Result<bool, WireError> {
        let rows = session.query(&format!("SELECT '{canary}'")).await?;
        Ok(rows.first().is_some_and(|row| row.text(0) == canary))
    }

    async fn close(session: Session) {
        let _ = session.close().await;
    }

    fn options(&self) -> &ConnectOptions {
        self.options
    }

    fn socket(&self) -> Option<&Path> {
        self.options.socket.as_deref()
    }

    fn host(&self) -> (&str, u16) {
        (&self.options.host, self.options.port)
    }

    fn expectation(&self) -> &Expectation {
        self.expectation
    }

    async fn sides(&self, reactor: &Rc<Reactor>) -> Result<(SessionFacts, Vec<Proof>), Objection> {
        Session::warm_up(reactor, self.options, 1).await?;
        let mut session = self.expectation.connect(reactor, self.options).await?;
        self.expectation.check(&session).map_err(Objection::Disproved)?;
        let facts = session.facts()?;
        let status = self.expectation.check_status(&mut session).await?;
        let status = status.map_err(Objection::Disproved)?;
        let _ = session.close().await;
        let evidence = if status.version.is_empty() {
            "both empty".to_owned()
        } else {
            format!("{} {}", status.version, status.cipher)
        };
        let claim = "its status variables Ssl_version and Ssl_cipher agree";
        let proofs = vec![client_evidence(&facts), proof("server", claim, &evidence)];
        Ok((facts, proofs))
    }

    fn wrong_login(&self) -> Option<(&'static str, ConnectOptions)> {
        let right = self.options.clone();
        // By the kernel's word no password is sent, so there it is the user who must be wrong.
        Some(match self.options.authentication {
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
        })
    }
}
