//! What a link says of itself.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Nanoseconds: the greatest lateness kept; greater ones count as this.
const LATEST: u64 = 10_000_000_000;
/// Significant decimal digits of a lateness.
const DIGITS: u8 = 3;

/// What a link did since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// Packets delivered, both directions together.
    pub packets: u64,
    /// Median over the packets of how much later than due they were handed to the receiving side, in microseconds. A
    /// packet is due its delay after the link process took it: waking up for that is not in it. 0 without packets.
    pub lateness_median_us: f64,
    /// 99th percentile of the same.
    pub lateness_p99_us: f64,
    /// The greatest of the same.
    pub lateness_max_us: f64,
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

    pub(super) fn report(&self) -> LinkReport {
        let microseconds = |quantile| self.lateness.value_at_quantile(quantile) as f64 / 1e3;
        LinkReport {
            packets: self.lateness.len(),
            lateness_median_us: microseconds(0.5),
            lateness_p99_us: microseconds(0.99),
            lateness_max_us: microseconds(1.0),
            drops: self.drops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_all_that_was_delivered_and_dropped() {
        let mut tally = Tally::new();
        assert_eq!(tally.report().lateness_max_us, 0.0);
        for microseconds in 1..=100 {
            tally.delivered(Duration::from_micros(microseconds));
        }
        tally.dropped();
        let report = tally.report();
        assert_eq!((report.packets, report.drops), (100, 1));
        assert!((report.lateness_median_us - 50.0).abs() < 1.0, "{report:?}");
        assert!((report.lateness_p99_us - 99.0).abs() < 1.0, "{report:?}");
        assert!((report.lateness_max_us - 100.0).abs() < 1.0, "{report:?}");
    }
}
