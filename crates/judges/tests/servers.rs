//! The clients beside the official drivers, on real servers.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

#[path = "../../wire/tests/common/mod.rs"]
mod common;
mod mongodb;
mod official_driver;
mod postgresql;
mod values;
