//! The MySQL client/server protocol, as MySQL, MariaDB and their relatives speak it.

mod authentication;
mod expectation;
mod framing;
mod handshake;
mod query;
mod result;
mod session;
mod statement;

pub use expectation::{Expectation, ExpectedLogin, ServersWord};
pub use handshake::ConnectOptions;
pub use query::Query;
pub use result::{ResultSummary, TextRow};
pub use session::Session;
pub use statement::{Parameter, Statement};
