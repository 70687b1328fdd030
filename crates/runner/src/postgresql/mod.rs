//! PostgreSQL, and servers that are compatible with it.

mod claim;
mod clients;
mod control;
mod counted;
mod counters;
mod database;
mod environment;
mod footprint;
mod limits;
mod product;
mod readings;
mod removal;
mod rights;

pub(crate) use clients::PostgreSql;
pub(crate) use database::postgresql_target;
