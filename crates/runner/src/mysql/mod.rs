//! MySQL, and servers that are compatible with it.

mod clients;
mod control;
mod counters;
mod database;
mod encdb;
mod environment;
mod members;
mod variable;

pub(crate) use clients::MySql;
pub(crate) use database::{COLD_LOGINS, encdb_target, mysql_target};
