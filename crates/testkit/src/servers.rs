//! Real servers: those besides the distribution's, fetched once into the user's cache, and how they are reached.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ciphertax_lab::catalogue::{Entry, POSTGRESQL};
use ciphertax_lab::{Installation, PrivateServer, install};
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_wire::{mongodb, postgresql};

use crate::not_tested;

/// A server of the catalogue, fetched by the machine's package clients unless it is in the user's cache. Where that
/// cannot be, as without a network, the test is not tested: `None`.
#[track_caller]
pub fn fetched(entry: &'static Entry) -> Option<Installation> {
    match install(entry, &AtomicBool::new(false), &mut |_| {}) {
        Ok(installation) => Some(installation),
        Err(error) => {
            not_tested(format_args!("{entry} cannot be fetched: {error}"));
            None
        }
    }
}

/// The folder of PostgreSQL's own programs (`initdb`, `psql`, `pgbench`, `pg_basebackup` …), fetched like [`fetched`] where
/// the system has none.
#[track_caller]
pub fn postgresql_programs() -> Option<PathBuf> {
    let installation = fetched(&POSTGRESQL)?;
    installation.program().parent().map(Path::to_owned)
}

/// Options of a plaintext session over TCP, by the default account.
pub fn plain(server: &PrivateServer) -> ConnectOptions {
    let address = server.address();
    ConnectOptions::new(
        address.ip().to_string(),
        address.port(),
        server.user(),
        server.password().clone(),
    )
}

/// The same with a PostgreSQL, in the database that every one has.
pub fn plain_postgresql(server: &PrivateServer) -> postgresql::ConnectOptions {
    let address = server.address();
    postgresql::ConnectOptions {
        database: Some("postgres".to_owned()),
        ..postgresql::ConnectOptions::new(
            address.ip().to_string(),
            address.port(),
            server.user(),
            server.password().clone(),
        )
    }
}

/// The same with a MongoDB that asks nobody who he is.
pub fn plain_mongodb(server: &PrivateServer) -> mongodb::ConnectOptions {
    let address = server.address();
    mongodb::ConnectOptions::new(address.ip().to_string(), address.port(), mongodb::Login::None)
}
