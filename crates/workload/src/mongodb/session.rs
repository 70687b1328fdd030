//! MongoDB's sessions as workloads use them.

use std::future::Future;
use std::rc::Rc;

use ciphertax_reactor::Reactor;
use ciphertax_records::{ConnectTrace, PhaseTrace};
use ciphertax_wire::mongodb::{self, ConnectOptions};
use ciphertax_wire::{Traffic, WireError};

use crate::client::Session;
use crate::dataset::schema::SCHEMA;

/// The only database that is ever touched.
pub const DATABASE: &str = SCHEMA;

impl Session for mongodb::Session {
    type Options = ConnectOptions;

    fn connect(
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
    ) -> impl Future<Output = Result<(Self, ConnectTrace), WireError>> {
        mongodb::Session::connect(reactor, options)
    }

    fn traffic(&self) -> Traffic {
        self.traffic()
    }

    fn close(self) -> impl Future<Output = Result<PhaseTrace, WireError>> {
        self.close()
    }
}
