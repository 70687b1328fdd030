//! Studies, their files and what is refused in them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod any_text;
mod bad_columns;
mod bad_study;
mod budgets;
mod reference;
mod settings;
mod study;
