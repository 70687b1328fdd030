//! MySQL, and servers that are compatible with it.

mod clients;
mod cold;
mod control;
mod counters;
mod database;
mod encdb;
mod environment;
mod members;
mod product;
mod variable;

pub(crate) use clients::MySql;
pub(crate) use cold::LOGINS as COLD_LOGINS;
pub(crate) use database::{encdb_target, mysql_target};
