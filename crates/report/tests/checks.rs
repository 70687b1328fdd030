//! Reports as text, pages and files.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod colours;
mod exports;
mod fixture;
mod html;
mod json;
mod summary;
mod terminal;
mod two_runs;
mod why;
