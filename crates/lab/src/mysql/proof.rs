//! Proof that an arm on MySQL-compatible servers is what it says.

use std::net::SocketAddr;
use std::rc::Rc;

use ciphertax_reactor::Reactor;
use ciphertax_records::Proof;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::{Client, WireError};

use crate::proof::{self, Objection, ProofError, Proved, Witnesses};

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
    proof::canary_by::<MySqlWitnesses<'static>>(ConnectOptions {
        tls: None,
        ..options.clone()
    })
}

struct MySqlWitnesses<'a> {
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
}

impl Witnesses for MySqlWitnesses<'_> {
    type Session = Session;

    type Counted = ();

    fn options(&self) -> &ConnectOptions {
        self.options
    }

    fn expectation(&self) -> &Expectation {
        self.expectation
    }

    async fn open(&self, reactor: &Rc<Reactor>) -> Result<(Session, ()), WireError> {
        Session::warm_up(reactor, self.options, 1).await?;
        let session = Session::connect_as(reactor, self.options, self.expectation).await?;
        Ok((session, ()))
    }

    /// Of a single session its status variables say more.
    fn counted(&self, (): ()) -> Result<Option<Proof>, Objection> {
        Ok(None)
    }

    async fn send(session: &mut Session, canary: &str) -> Result<bool, WireError> {
        let rows = session.query(&format!("SELECT '{canary}'")).await?;
        Ok(rows.first().is_some_and(|row| row.text(0) == canary))
    }
}
