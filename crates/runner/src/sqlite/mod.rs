//! SQLite, which runs in the load threads: no server, no route to it, and nobody else who pays.

mod counters;
mod file;
mod load;
mod refusals;
mod servers;

pub(crate) use refusals::refuse;
pub(crate) use servers::SqliteServers;
