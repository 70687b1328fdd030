//! PostgreSQL's frontend/backend protocol, versions 3.0 and 3.2
//! (<https://www.postgresql.org/docs/current/protocol.html>).
//!
//! What the client says rarely is written by `postgres-protocol`, which also makes the answer to a challenge of `md5`. Not
//! taken from it: what is sent per operation, since a statement's message is built once and its values are written into
//! it; what the server says, since that crate's parser takes each message out of the buffer into memory of its own and
//! knows neither keys to cancel by of protocol 3.2 nor the message that negotiates the version; and SCRAM, because it
//! keeps no keys.

mod authentication;
mod client;
mod connect;
mod dialect;
mod messages;
mod options;
mod result;
mod row;
mod session;
mod session_settings;
mod session_status;
mod statement;

#[cfg(test)]
pub(crate) use authentication::RULES;
pub use options::{ALPN, ConnectOptions, Method, Negotiation, ProtocolVersion};
pub use row::Values;
pub use session::{CopyIn, Session};
pub use session_status::SessionStatus;
pub use statement::Statement;

pub use crate::expectation::{Expectation, ExpectedLogin};
pub use crate::scram::ScramKeys;
pub use crate::sql::{Parameter, Query, ResultSummary, TextRow};
