//! Stacks of real threads: of this very process and of private servers.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod hostile;
mod libraries;
mod look;
mod own_threads;
mod servers;

ciphertax_testkit::plays_roles!();
