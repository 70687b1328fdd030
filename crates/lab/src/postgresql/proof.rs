//! Proof that an arm on PostgreSQL is what it says.

use std::net::SocketAddr;
use std::rc::Rc;

use ciphertax_reactor::Reactor;
use ciphertax_records::Proof;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Negotiation, Session};
use ciphertax_wire::{Client, WireError};

use crate::proof::{self, Objection, ProofError, Proved, Witnesses};

/// Proves an arm by four witnesses: the client, the server, a relay that looks for a canary, and a login that must be
/// refused: by a wrong password, or as `unknown_client`, with a certificate of the same authority that no account has.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(
    arm: &str,
    options: &ConnectOptions,
    expectation: &Expectation,
    unknown_client: Option<&ConnectOptions>,
) -> Result<Proved, ProofError> {
    let witnesses = PostgreSqlWitnesses {
        options,
        expectation,
        unknown_client,
    };
    proof::prove(arm, &witnesses)
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options` at the address it is given,
/// always without TLS, and selects the canary.
pub fn select_canary(options: &ConnectOptions) -> impl FnMut(SocketAddr, &str) -> Result<(), String> + use<> {
    proof::canary_by::<PostgreSqlWitnesses<'static>>(ConnectOptions {
        tls: None,
        negotiation: Negotiation::Request,
        ..options.clone()
    })
}

struct PostgreSqlWitnesses<'a> {
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
    unknown_client: Option<&'a ConnectOptions>,
}

impl Witnesses for PostgreSqlWitnesses<'_> {
    type Session = Session;

    type Counted = ();

    fn options(&self) -> &ConnectOptions {
        self.options
    }

    fn expectation(&self) -> &Expectation {
        self.expectation
    }

    async fn open(&self, reactor: &Rc<Reactor>) -> Result<(Session, ()), WireError> {
        // Keys of SCRAM that an arm keeps are there from now on.
        Session::warm_up(reactor, self.options, 1).await?;
        let (session, _) = Session::connect(reactor, self.options).await?;
        Ok((session, ()))
    }

    /// It counts neither handshakes nor logins; of a single session its view `pg_stat_ssl` says more.
    fn counted(&self, (): ()) -> Result<Option<Proof>, Objection> {
        Ok(None)
    }

    async fn send(session: &mut Session, canary: &str) -> Result<bool, WireError> {
        let rows = session.query(&format!("SELECT '{canary}'")).await?;
        Ok(rows.first().is_some_and(|row| row.text(0) == canary))
    }

    fn wrong_login(&self) -> Option<(&'static str, ConnectOptions)> {
        match self.unknown_client {
            Some(unknown) => Some(("a certificate of nobody", unknown.clone())),
            None => Session::with_wrong_secret(self.options),
        }
    }
}
