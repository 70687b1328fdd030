//! The time of an operation by what its session did or waited for.

mod blocked;
mod mongodb;
mod mysql;
mod postgresql;
mod rows;
mod rule;
mod seen;
mod state;

#[cfg(test)]
mod tests;

pub(super) use blocked::Family;
pub(super) use rows::rows;
pub(super) use seen::{Block, InState, Seen, blocks, per_operation};
pub(super) use state::State;
