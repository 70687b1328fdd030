//! Values with their uncertainty, and which way they cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way a metric moves when a feature costs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More is worse: CPU, latency, bytes.
    HigherCosts,
    /// Less is worse: throughput.
    LowerCosts,
}

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
    pub fn around(value: f64, half_width: f64) -> Self {
        Self {
            value,
            low: value - half_width,
            high: value + half_width,
        }
    }
}
