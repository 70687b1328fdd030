//! From made-up samples of known cost to what is said about them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod at_rest;
mod comparisons;
mod consequences;
mod embedded;
mod figures;
mod flames;
mod headlines;
mod loads;
mod looks;
mod made_up;
#[path = "../../../records/tests/made_up.rs"]
mod record;
mod rounds;
mod targets;
mod two_runs;
mod waits;
