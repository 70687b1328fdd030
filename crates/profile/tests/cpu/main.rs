//! Where CPU time goes, by what the kernel samples of real programs.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;
mod left_behind;
mod processes;
mod rights;
mod servers;
mod spinning;

ciphertax_testkit::plays_roles!();
