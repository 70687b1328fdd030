//! What the clients of all databases have, whatever they are asked: connections, and what these must be.

use std::future::Future;
use std::rc::Rc;

use ciphertax_engine::{Engine, EngineError, Failure};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Study};
use ciphertax_reactor::Reactor;
use ciphertax_records::{ConnectTrace, PhaseTrace};
use ciphertax_wire::{Expectation, Negotiated, Traffic, WireError};

use crate::connect::Task;
use crate::job::Job;

/// A logged-in connection to a database.
pub trait Session: Negotiated + Sized {
    /// What connecting needs to know.
    type Options: Clone;

    /// Connects and logs in; the trace tells what each phase took.
    fn connect(
        reactor: &Rc<Reactor>,
        options: &Self::Options,
    ) -> impl Future<Output = Result<(Self, ConnectTrace), WireError>>;

    /// What went over the connection so far.
    fn traffic(&self) -> Traffic;

    /// Says goodbye, waits until the server has closed, and tells how long that took.
    fn close(self) -> impl Future<Output = Result<PhaseTrace, WireError>>;
}

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

    /// Makes the server ready for a slice of new connections, outside the measured time.
    fn before_connects(&self, _reactor: &Rc<Reactor>) -> impl Future<Output = Result<(), Failure>> {
        async { Ok(()) }
    }
}

/// The client of one kind of database, with the vocabularies that it speaks.
pub trait Driver: Client {
    /// What a short connection asks if it asks one row or record by its key.
    type Lookup: Task<Self>;

    /// What the database is called.
    const NAME: &'static str;

    /// What it speaks.
    const VOCABULARIES: &'static [Vocabulary];

    /// One row or record of the study's data set.
    fn lookup(study: &Study) -> Self::Lookup;

    /// The same with what a cell says of its connections.
    #[must_use]
    fn of_cell(self, study: &Study, cell: &Cell) -> Self;

    /// Starts the load threads of a cell for arms that are reached so; `None` for a workload in a vocabulary that is not
    /// spoken.
    ///
    /// # Errors
    /// When threads cannot be started.
    fn start(job: &Job<'_>, clients: Vec<Self>) -> Result<Option<Engine>, EngineError>;
}

/// What an error of a connection is to the engine.
pub(crate) fn failure(error: WireError) -> Failure {
    if error.is_disconnect() {
        Failure::Disconnected(error.to_string())
    } else {
        Failure::Error(error.to_string())
    }
}
