//! The distance between client and server.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distance between client and server, the same for all arms of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Round-trip time in milliseconds, half of it each way.
    pub rtt_ms: f64,
    /// Standard deviation of the round-trip time in milliseconds. Packets stay in order.
    #[serde(default)]
    pub jitter_ms: f64,
    /// Bandwidth each way in megabits (10⁶ bits) per second; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_mbit: Option<f64>,
}

impl Link {
    /// Round-trip time.
    pub fn round_trip(&self) -> Duration {
        Duration::from_secs_f64(self.rtt_ms / 1e3)
    }
}
