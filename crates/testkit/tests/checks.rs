//! How much code there is, and what the documents refer to.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod documents;
mod tidy;
