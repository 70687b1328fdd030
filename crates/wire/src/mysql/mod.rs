//! The MySQL client/server protocol, as MySQL, MariaDB and their relatives speak it.

mod authentication;
mod cold_accounts;
mod expectation;
mod framing;
mod handshake;
mod query;
mod result;
mod session;
mod statement;

pub use cold_accounts::ColdAccounts;
pub use expectation::{Expectation, ExpectedLogin, ServersWord};
pub use handshake::ConnectOptions;
pub use query::Query;
pub use result::{ResultSummary, TextRow};
pub use session::Session;
pub use statement::{Parameter, Statement};
