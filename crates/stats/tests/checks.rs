//! The statistics, on made-up samples of known truth and on recorded ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod coverage;
mod properties;
mod recorded;
mod simulation;
mod stalls;
mod two_runs;
