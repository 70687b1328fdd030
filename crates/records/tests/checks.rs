//! What a run leaves, written and read.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod looks;
mod run_folder;
