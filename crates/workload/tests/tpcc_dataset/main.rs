//! TPC-C's tables on real servers: populated as the specification says, taken up again, repaired and restored.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod ground;
mod population;
mod resumption;
mod stored;

ciphertax_testkit::plays_roles!();
