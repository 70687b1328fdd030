//! Private servers, what leads to them and what is left of them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod at_rest;
mod column_relay;
mod column_relay_rows;
mod disk_full;
mod file_system;
mod file_systems_left_behind;
mod links;
mod mongodb;
mod nothing_left_behind;
mod owner;
mod pooler;
mod postgresql;
mod prelude;
mod private_server;
mod sqlite;
mod test_all;
mod tls_libraries;
mod tunnels;
mod wrong_logins;

ciphertax_testkit::plays_roles!();
