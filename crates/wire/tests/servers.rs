//! The clients with real servers. One test program, so that tests can share servers; what counts the memory of its process has one
//! of its own.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod broken_conversations;
mod clients;
mod common;
mod hostile_server;
mod local_data;
mod logins;
mod policies;
mod postgresql_logins;
mod refusals;
mod resumption;
mod sessions;
