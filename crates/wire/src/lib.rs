//! Lean database clients over plain and TLS streams; for SQLite, which has neither, `rusqlite`.
//!
//! Own clients and not drivers, because only they give the time of every connect phase, the facts of a session, the
//! path a login took, a choice of TLS library and a cost per operation near that of the system calls. Packet formats,
//! authentication plugins and TLS come from well-kept crates.

mod address;
mod buffer;
mod client;
mod error;
mod expectation;
pub mod mongodb;
pub mod mysql;
pub mod postgresql;
mod remedy;
mod scram;
mod session_settings;
pub mod sql;
pub mod sqlite;
mod stream;
pub mod tls;
mod trace;
mod url;
mod value;

use std::fmt;

pub use crate::url::{
    MongoDbTarget, MySqlTarget, PostgreSqlTarget, PublicKey, Target, TargetError, is_this_machine,
    url_of_another_client,
};
pub use address::{Address, resolve};
pub use client::{Client, Endpoint, Session};
pub use error::{Distrust, WireError};
pub use expectation::{Expectation, ExpectedLogin, Word};
pub use session_settings::Overridden;
pub use trace::{Traffic, is_silent_once_reached, note_thread_cpu};
pub use value::Value;

/// What the clients of a server speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// That of MySQL and MariaDB.
    MySql,
    /// That of MongoDB.
    MongoDb,
    /// That of PostgreSQL.
    PostgreSql,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MySql => "MySQL",
            Self::MongoDb => "MongoDB",
            Self::PostgreSql => "PostgreSQL",
        })
    }
}
