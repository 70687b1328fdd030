//! SQLite, which runs in the load threads: no server, no route to it, and nobody else who pays.

mod file;
mod servers;

pub(crate) use servers::SqliteServers;
