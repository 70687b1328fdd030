//! End to end: the `ciphertax` command against real MariaDB servers. One test program, so that tests can share a run.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod at_rest;
mod bad_input;
mod certificates;
mod client_keys;
mod columns;
mod commands;
mod common;
mod confirm;
mod connect;
mod doctor;
mod encdb;
mod faults;
mod file_systems;
mod forwarders;
mod given_schema;
mod impostors;
mod links;
mod loads;
mod mongodb;
mod mongodb_transit;
mod ordinary_user;
mod outputs;
mod own;
mod own_mongodb;
mod own_postgresql;
mod postgresql;
mod postgresql_faults;
mod postgresql_leftovers;
mod postgresql_pooler;
mod postgresql_refusals;
mod preloaded;
mod probes;
mod quick;
#[path = "../../records/tests/made_up.rs"]
mod record;
mod resume;
mod safety;
mod server_agent;
mod server_counter;
mod servers;
mod settings;
mod slow_write;
mod sqlite;
mod studies;
mod targets;
mod test_all;
mod tpcc;
mod transit;
mod two_runs;
mod wrong_logins;

ciphertax_testkit::plays_roles!();
