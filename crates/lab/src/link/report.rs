//! What a link says of itself.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Nanoseconds: the greatest lateness kept; greater ones count as this.
const LATEST: u64 = 10_000_000_000;
/// Significant decimal digits of a lateness.
const DIGITS: u8 = 3;

/// How a link delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// IP packets, between two TUN devices: TCP behaves as on a real line.
    Tun,
    /// The bytes of connections, in a TCP relay.
    Relay,
}

impl LinkKind {
    /// What a reader of the figures must know of this kind; `None` if it behaves like a real line.
    pub fn caveat(self) -> Option<&'static str> {
        match self {
            Self::Tun => None,
            Self::Relay => {
                Some("does not delay TCP's own handshake and knows neither slow start nor windows")
            }
        }
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tun => "TUN devices",
            Self::Relay => "TCP relay",
        })
    }
}

/// What a link did since it was started or last [set](super::RunningLink::set).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// How it delays.
    pub kind: LinkKind,
    /// Packets delivered, both directions together; for a relay, pieces of up to 64 KiB.
    pub packets: u64,
    /// Median over the packets of how much later than due they were handed to the receiving side, in microseconds. A
    /// packet is due its delay after the link process took it: waking up for that is not in it. 0 without packets.
    pub lateness_median_us: f64,
    /// 99th percentile of the same.
    pub lateness_p99_us: f64,
    /// Packets dropped because the queue before a limited bandwidth was full, as a router drops them.
    pub drops: u64,
}

/// Counts what a link does.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    drops: u64,
    lateness: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            drops: 0,
            lateness: Histogram::new_with_bounds(1, LATEST, DIGITS)
                .expect("the bounds are constants that the library allows"),
        }
    }

    pub(super) fn delivered(&mut self, lateness: Duration) {
        let nanoseconds = u64::try_from(lateness.as_nanos()).unwrap_or(LATEST);
        self.lateness.saturating_record(nanoseconds);
    }

    pub(super) fn dropped(&mut self) {
        self.drops += 1;
    }

    pub(super) fn clear(&mut self) {
        self.drops = 0;
        self.lateness.reset();
    }

    pub(super) fn report(&self, kind: LinkKind) -> LinkReport {
        let microseconds = |quantile| self.lateness.value_at_quantile(quantile) as f64 / 1e3;
        LinkReport {
            kind,
            packets: self.lateness.len(),
            lateness_median_us: microseconds(0.5),
            lateness_p99_us: microseconds(0.99),
            drops: self.drops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_from_the_last_clearing_on() {
        let mut tally = Tally::new();
        for microseconds in 1..=100 {
            tally.delivered(Duration::from_micros(microseconds));
        }
        tally.dropped();
        let report = tally.report(LinkKind::Tun);
        assert_eq!((report.packets, report.drops), (100, 1));
        assert!((report.lateness_median_us - 50.0).abs() < 1.0, "{report:?}");
        assert!((report.lateness_p99_us - 99.0).abs() < 1.0, "{report:?}");
        tally.clear();
        let report = tally.report(LinkKind::Tun);
        assert_eq!((report.packets, report.drops), (0, 0));
        assert_eq!(report.lateness_p99_us, 0.0);
    }
}
