//! A link's settings in the units of its queues.

use std::time::Duration;

use ciphertax_model as model;

use super::error::LinkError;

/// What happens to packets in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settings {
    /// Half the round-trip time.
    pub(super) one_way: Duration,
    /// Standard deviation of the time one way, in seconds.
    pub(super) sigma: f64,
    /// Bytes per second.
    pub(super) rate: Option<f64>,
}

/// What happens to packets on all ways of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WaySettings {
    pub(super) to_servers: Settings,
    pub(super) between_nodes: Settings,
}

impl TryFrom<&model::Distances> for WaySettings {
    type Error = LinkError;

    fn try_from(distances: &model::Distances) -> Result<Self, LinkError> {
        let of = |link: Option<model::Link>| Settings::try_from(&link.unwrap_or(model::Link::NONE));
        Ok(Self {
            to_servers: of(distances.to_servers)?,
            between_nodes: of(distances.between_nodes)?,
        })
    }
}

impl TryFrom<&model::Link> for Settings {
    type Error = LinkError;

    fn try_from(link: &model::Link) -> Result<Self, LinkError> {
        if let Some((_, problem)) = link.problems().into_iter().next() {
            return Err(LinkError::Settings { problem });
        }
        Ok(Self {
            one_way: link.round_trip() / 2,
            // Both ways are independent, so their variances add up.
            sigma: link.jitter_ms / 1e3 / 2_f64.sqrt(),
            rate: link.bandwidth_mbit.map(|megabits| megabits * 1e6 / 8.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_round_trip_goes_each_way() {
        let link = model::Link {
            rtt_ms: 40.0,
            jitter_ms: 2.0,
            bandwidth_mbit: Some(8.0),
        };
        let settings = Settings::try_from(&link).unwrap();
        assert_eq!(settings.one_way, Duration::from_millis(20));
        assert!((2.0 * settings.sigma.powi(2) - 0.002_f64.powi(2)).abs() < 1e-12);
        assert_eq!(settings.rate, Some(1e6));
    }

    #[test]
    fn what_no_link_can_be_is_refused_by_its_name() {
        let link = |rtt_ms, jitter_ms, bandwidth_mbit| model::Link {
            rtt_ms,
            jitter_ms,
            bandwidth_mbit,
        };
        for (link, setting) in [
            (link(-1.0, 0.0, None), "rtt_ms"),
            (link(f64::NAN, 0.0, None), "rtt_ms"),
            (link(1e9, 0.0, None), "rtt_ms"),
            (link(10.0, -1.0, None), "jitter_ms"),
            (link(10.0, 3.0, None), "jitter_ms"),
            (link(10.0, f64::INFINITY, None), "jitter_ms"),
            (link(10.0, 0.0, Some(0.0)), "bandwidth_mbit"),
            (link(10.0, 0.0, Some(f64::NAN)), "bandwidth_mbit"),
        ] {
            let error = Settings::try_from(&link).unwrap_err().to_string();
            assert!(error.contains(setting), "{error}");
        }
    }
}
