//! MongoDB: a server, or the servers of a replica set.

mod clients;
mod control;
mod counted;
mod database;
mod environment;

pub(crate) use clients::MongoDb;
pub(crate) use database::mongodb_target;
