//! Private servers, what leads to them and what is left of them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod at_rest;
mod catalogue;
mod clusters;
mod column_relay;
mod column_relay_rows;
mod disk_full;
mod file_system;
mod file_systems_left_behind;
mod install;
mod links;
mod mongodb;
mod mongodb_at_a_distance;
mod mongodb_catalogue;
mod nothing_left_behind;
mod pooler;
mod postgresql;
mod private_server;
mod servers_on_file_systems;
mod sqlite;
mod tls_libraries;
mod tunnels;

ciphertax_testkit::plays_roles!();
