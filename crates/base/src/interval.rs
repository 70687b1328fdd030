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
    /// Each of the three made something else, in the same order.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            value: of(self.value),
            low: of(self.low),
            high: of(self.high),
        }
    }

    /// Of the opposite.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            value: -self.value,
            low: -self.high,
            high: -self.low,
        }
    }

    /// As far below a value as above it.
    pub fn around(value: f64, half_width: f64) -> Self {
        Self {
            value,
            low: value - half_width,
            high: value + half_width,
        }
    }
}
