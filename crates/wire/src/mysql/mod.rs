//! The MySQL client/server protocol, as MySQL, MariaDB and their relatives speak it.

mod authentication;
mod cold_accounts;
mod framing;
mod handshake;
mod query;
mod result;
mod servers_word;
mod session;
mod statement;

pub use cold_accounts::ColdAccounts;
pub use handshake::ConnectOptions;
pub use query::Query;
pub use result::{BinaryTexts, ResultSummary, TextRow};
pub use servers_word::ServersWord;
pub use session::Session;
pub use statement::{Parameter, Statement};

pub use crate::expectation::{Expectation, ExpectedLogin};
