//! What threads wait for, on servers whose truth is made: who holds a lock, who sleeps, who is idle, and for how long.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;
mod faults;
mod mariadb;
mod postgresql;
mod process;
mod servers;

ciphertax_testkit::plays_roles!();
