//! PostgreSQL, and servers that are compatible with it.

mod clients;
mod control;
mod counters;
mod database;
mod removal;

pub(crate) use clients::PostgreSql;
#[cfg(test)]
pub(crate) use counters::ASKED;
pub(crate) use database::postgresql_target;
