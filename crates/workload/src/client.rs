//! What the clients of all databases have, whatever they are asked: connections, and what these must be.

use std::future::Future;
use std::rc::Rc;

use ciphertax_columns::encdb::Derivation;
use ciphertax_engine::Failure;
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Expectation, Session, WireError};

/// How an arm reaches its server, and what every session must then be.
pub trait Client: Clone + Send + Sync + 'static {
    /// What it opens.
    type Session: Session;

    /// What every session must be.
    fn expectation(&self) -> &Expectation;

    /// How the connection in this slot reaches its server: where there are several, each slot may have another.
    fn route(
        &self,
        reactor: &Rc<Reactor>,
        slot: u32,
    ) -> impl Future<Output = Result<<Self::Session as Session>::Options, Failure>>;

    /// Opens the session of this slot and checks it by the client's and by the server's word.
    fn open(&self, reactor: &Rc<Reactor>, slot: u32) -> impl Future<Output = Result<Self::Session, Failure>>;

    /// How the data keys of EncDB's cells are derived that its sessions receive.
    fn derivation(&self) -> Derivation {
        Derivation::default()
    }

    /// Makes the server ready for a slice of new connections, outside the measured time.
    fn before_connects(&self, _reactor: &Rc<Reactor>) -> impl Future<Output = Result<(), Failure>> {
        async { Ok(()) }
    }
}

/// What an error of a connection is to the engine.
pub(crate) fn failure(error: WireError) -> Failure {
    if error.is_disconnect() {
        Failure::Disconnected(error.to_string())
    } else {
        Failure::Error(error.to_string())
    }
}
