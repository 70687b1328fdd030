//! PostgreSQL, and servers that are compatible with it.

mod claim;
mod clients;
mod control;
mod counters;
mod database;
mod environment;
mod members;
mod product;
mod removal;
mod rights;
mod wait_events;

pub(crate) use clients::PostgreSql;
#[cfg(test)]
pub(crate) use counters::ASKED;
pub(crate) use database::postgresql_target;
