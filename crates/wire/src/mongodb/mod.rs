//! MongoDB's wire protocol (`OP_MSG`, MongoDB 4.4 and newer).

mod client;
mod connect;
mod counters;
mod identity;
mod login;
mod message;
mod reply;
mod session;
mod topology;

pub use bson;

pub use connect::{ConnectOptions, Login};
pub use counters::{Logins, Others, ServerCounters, Verdict, authenticated_users};
pub use identity::Identity;
pub use login::Account;
#[cfg(test)]
pub(crate) use login::RULES;
pub use message::{DocumentWriter, Request, SequenceWriter};
pub use reply::{Batch, Reply};
pub use session::Session;
pub use topology::{Member, Role, Topology};

pub use crate::expectation::{Expectation, ExpectedLogin};
pub use crate::scram::{Mechanism, ScramKeys};

use crate::error::WireError;

/// BSON that is none.
fn unreadable(error: bson::error::Error) -> WireError {
    WireError::protocol(format!("a document that cannot be read: {error}"))
}
