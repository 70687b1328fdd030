//! Slices on real servers: quiet before, exact clocks around, and what was seen of each.

mod cells;
mod reading;
mod round;
mod slice;
mod still;
#[cfg(test)]
mod tests;

pub(crate) use cells::{Cells, OpenCell};
