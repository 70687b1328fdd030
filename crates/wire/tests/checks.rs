//! The clients with hostile servers and with none.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;
mod hostile_login;
mod mongodb_hostile;
mod postgresql_hostile;
mod refused_logins;
mod scram_signature;
mod server_names;
mod silent_servers;
mod sqlite;
