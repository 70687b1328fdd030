//! What is SQLite's alone: sessions that run in the load threads, and their dialect.

mod access;
mod dialect;
mod session;

pub use access::SqliteAccess;
