//! The MySQL client/server protocol, as MySQL-compatible servers speak it.

mod authentication;
mod client;
mod dialect;
mod framing;
mod handshake;
mod parsec;
mod public_key;
mod result;
mod session;
mod session_settings;
mod session_status;
mod statement;
mod values;

pub use handshake::{ColdAccounts, ConnectOptions};
pub use public_key::{KeyFile, KeysOverTls, TrustedKeys};
pub use session::Session;
pub use session_status::SessionStatus;
pub use statement::Statement;

pub use crate::expectation::{Expectation, ExpectedLogin};
pub use crate::sql::{Parameter, Query, ResultSummary, TextRow};
