//! SQLite, which runs in its client: there is no server, no connection and nothing on the wire.
//!
//! The library is SQLCipher's, with ciphertax's own OpenSSL. It is SQLite of the same release as long as it is given no key.
//! Its statements are `rusqlite`'s. Every call blocks until it is done, so each session needs a thread of its own to work
//! beside others; a database that somebody else writes to is waited for, [`BUSY`] at most.

mod connect;
mod dialect;
mod session;
mod statement;
mod status;

use std::time::Duration;

pub use connect::{Cipher, ConnectOptions};
pub use rusqlite::version;
pub use session::Session;
pub use statement::Statement;
pub use status::Status;

pub use crate::sql::{Parameter, Query, ResultSummary, TextRow};

/// By which name statements know the database, besides `main`.
pub const SCHEMA: &str = "ciphertax";

/// How long a session waits for one that writes, or for a checkpoint.
pub const BUSY: Duration = Duration::from_secs(8);

/// True if an error is that the file is no database for this key: it is another's, or there is none.
pub fn is_wrong_key(error: &crate::WireError) -> bool {
    session::primary(error) == Some(rusqlite::ffi::SQLITE_NOTADB)
}

/// True if an error is that the disk is full.
pub fn is_disk_full(error: &crate::WireError) -> bool {
    session::primary(error) == Some(rusqlite::ffi::SQLITE_FULL)
}
