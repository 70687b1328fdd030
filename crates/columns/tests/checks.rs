//! Cells, by vectors that others published and broken on purpose.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod broken_cells;
mod csfle;
mod encdb;
mod published_cells;
