//! A value with its interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Blocks from which on a difference has an interval. With fewer, their spread is little more than chance: Student's
/// quantile is 2.8 with five, 4.3 with three and 12.7 with two.
pub const FEWEST_BLOCKS: u32 = 5;

/// A value with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// As far below a value as above it.
    pub(crate) fn around(value: f64, half_width: f64) -> Self {
        Self {
            value,
            low: value - half_width,
            high: value + half_width,
        }
    }
}
