//! What one load thread counts of an open loop, beside what its operations took.

use std::time::Duration;

use ciphertax_records::OpenLoopSample;
use ciphertax_stats::histogram;
use hdrhistogram::Histogram;

/// An operation that the load generator itself begins later than this is late. Some turns of the scheduler: what a
/// thread that shares its CPU must expect.
pub const LATE: Duration = Duration::from_millis(10);

/// Counts response times; one a load thread, merged when the slice has ended. Counting allocates nothing.
pub(crate) struct Responses {
    begun: u64,
    late: u64,
    delay_sum_ns: u64,
    sum_ns: u64,
    histogram: Histogram<u64>,
}

impl Responses {
    pub(crate) fn new() -> Self {
        Self {
            begun: 0,
            late: 0,
            delay_sum_ns: 0,
            sum_ns: 0,
            histogram: histogram::empty(),
        }
    }

    /// An operation began. So much of the time since it should have is the load generator's own fault; the rest it
    /// waited for the server's answers.
    pub(crate) fn began(&mut self, delay: Duration) {
        self.begun += 1;
        self.late += u64::from(delay > LATE);
        self.delay_sum_ns += delay.as_nanos() as u64;
    }

    /// An operation ended, so long after it should have begun.
    pub(crate) fn ended(&mut self, response: Duration) {
        let nanos = response.as_nanos() as u64;
        self.sum_ns += nanos;
        self.histogram.saturating_record(nanos);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.begun += other.begun;
        self.late += other.late;
        self.delay_sum_ns += other.delay_sum_ns;
        self.sum_ns += other.sum_ns;
        self.histogram
            .add(&other.histogram)
            .expect("all histograms of the engine have the same bounds");
    }

    /// `planned` is the number of operations that all threads together were to begin.
    pub(crate) fn sample(&self, planned: u64) -> OpenLoopSample {
        OpenLoopSample {
            planned,
            not_begun: planned.saturating_sub(self.begun),
            late: self.late,
            delay_sum_ns: self.delay_sum_ns,
            response_sum_ns: self.sum_ns,
            response: histogram::encode(&self.histogram),
        }
    }
}
