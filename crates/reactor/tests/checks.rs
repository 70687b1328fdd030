//! The event loop.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;
mod event_loop;
mod peers;
mod transfers;
