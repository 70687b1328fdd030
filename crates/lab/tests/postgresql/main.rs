//! Real private PostgreSQL servers: how they are made, as whom they run, and that nothing of them stays.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;
mod life;
mod logins;
mod tls;

ciphertax_testkit::plays_roles!();
