//! MongoDB's wire protocol (`OP_MSG`, MongoDB 4.4 and newer).

mod account;
mod client;
mod connect;
mod counters;
mod login;
mod message;
mod op_msg;
mod options;
mod reply;
mod request;
mod session;
mod silence;
mod topology;

pub use bson;

pub use account::Account;
#[cfg(test)]
pub(crate) use account::RULES;
pub use counters::{Logins, Others, ServerCounters, authenticated_users};
pub use options::{ConnectOptions, Login};
pub use reply::{Batch, Reply};
pub use request::{DocumentWriter, Request, SequenceWriter};
pub use session::Session;
pub use topology::{Member, Role, Topology};

pub use crate::expectation::{Expectation, ExpectedLogin};
pub use crate::scram::{Mechanism, ScramKeys};

use crate::error::WireError;

/// BSON that is none.
fn unreadable(error: bson::error::Error) -> WireError {
    WireError::protocol(format!("a document that cannot be read: {error}"))
}
