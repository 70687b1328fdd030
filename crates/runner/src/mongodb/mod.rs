//! MongoDB: a server, or the servers of a replica set.

mod cells_proof;
mod clients;
mod control;
mod counters;
mod database;
mod tables;

pub(crate) use clients::MongoDb;
pub(crate) use database::mongodb_target;
