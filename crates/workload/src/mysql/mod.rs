//! What is MySQL's alone, and that of the servers compatible with it: sessions, their dialect, what they leave.

mod key_exchange;
mod leftovers;
mod session;

pub use key_exchange::{KeyExchange, exchange_keys};
pub use leftovers::{end_sessions, refuse_without_drop};
#[cfg(test)]
pub(crate) use session::DIALECT;
pub use session::MysqlAccess;
