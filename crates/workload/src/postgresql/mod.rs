//! What is PostgreSQL's alone, and that of the servers compatible with it: sessions, their dialect, what they leave.

mod session;

#[cfg(test)]
pub(crate) use session::DIALECT;
pub use session::{PostgresqlAccess, end_sessions};
