//! The distances between the load, its servers, and the nodes of these.

use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest round-trip time in milliseconds.
const LONGEST_RTT_MS: f64 = 10_000.0;

/// Bandwidths that can be kept, in megabits per second: a modem's, and more than packets can be moved at.
const BANDWIDTHS_MBIT: RangeInclusive<f64> = 0.01..=100_000.0;

/// A distance in a network, the same for all arms of a cell.
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
    /// No distance at all.
    pub const NONE: Self = Self {
        rtt_ms: 0.0,
        jitter_ms: 0.0,
        bandwidth_mbit: None,
    };

    /// Round-trip time.
    pub fn round_trip(&self) -> Duration {
        Duration::from_secs_f64(self.rtt_ms / 1e3)
    }

    /// What no link can be, each with the key it is written under.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let &Self {
            rtt_ms,
            jitter_ms,
            bandwidth_mbit,
        } = self;
        let mut problems = Vec::new();
        if !(0.0..=LONGEST_RTT_MS).contains(&rtt_ms) {
            let message =
                format!("rtt_ms is {rtt_ms}; it must lie between 0 and {LONGEST_RTT_MS} milliseconds");
            problems.push(("rtt_ms", message));
        } else if !(0.0..=rtt_ms / 4.0).contains(&jitter_ms) {
            let message = format!(
                "jitter_ms is {jitter_ms}; it must lie between 0 and a quarter of rtt_ms, which is {}, so that hardly \
                 any delay would be negative",
                rtt_ms / 4.0
            );
            problems.push(("jitter_ms", message));
        }
        if let Some(bandwidth) = bandwidth_mbit.filter(|bandwidth| !BANDWIDTHS_MBIT.contains(bandwidth)) {
            let (least, most) = BANDWIDTHS_MBIT.into_inner();
            let message =
                format!("bandwidth_mbit is {bandwidth}; it must lie between {least} and {most} Mbit/s");
            problems.push(("bandwidth_mbit", message));
        }
        problems
    }
}

/// The distances of a cell; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Distances {
    /// From the load to its servers.
    pub to_servers: Option<Link>,
    /// From each server of a cluster or a replica set to the others.
    pub between_nodes: Option<Link>,
}

/// That of the servers alone.
impl From<Link> for Distances {
    fn from(link: Link) -> Self {
        Self {
            to_servers: Some(link),
            between_nodes: None,
        }
    }
}
