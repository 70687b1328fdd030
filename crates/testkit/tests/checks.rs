//! How much code there is.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod tidy;
