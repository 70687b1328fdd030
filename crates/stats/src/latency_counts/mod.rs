//! The occupied buckets of a latency histogram: some hundreds of the twenty thousand that it has room for.

mod text;

use std::sync::LazyLock;

use hdrhistogram::Histogram;

use crate::histogram::{HistogramError, HistogramText, decode, empty};

/// What tells the buckets apart. It holds nothing.
static BUCKETS: LazyLock<Histogram<u64>> = LazyLock::new(empty);

/// The lowest value of the last bucket in nanoseconds.
static LAST: LazyLock<u64> = LazyLock::new(|| text::LOWEST_VALUES.last().copied().unwrap_or_default());

/// How many latencies are in each bucket of [`empty`] that has any, ascending. Values beyond the last count in the last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatencyCounts {
    buckets: Vec<Bucket>,
    total: u64,
}

/// A bucket with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// The lowest value in nanoseconds, by which it is known.
    pub(crate) lowest: u64,
    pub(crate) count: u64,
}

impl Bucket {
    /// Its bounds in nanoseconds, the upper one excluded.
    pub(crate) fn bounds(self) -> (f64, f64) {
        let end = BUCKETS.next_non_equivalent(self.lowest);
        (self.lowest as f64, end as f64)
    }
}

impl From<&Histogram<u64>> for LatencyCounts {
    fn from(histogram: &Histogram<u64>) -> Self {
        let recorded = histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()));
        Self::of_ascending(recorded)
    }
}

/// From its text, without making room for what is empty: records of many hours hold hundreds of thousands.
impl TryFrom<&HistogramText> for LatencyCounts {
    type Error = HistogramError;

    fn try_from(text: &HistogramText) -> Result<Self, HistogramError> {
        match text::recorded(text) {
            Some(recorded) => Ok(Self::of_ascending(recorded.into_iter())),
            None => Ok(Self::from(&decode(text)?)),
        }
    }
}

impl LatencyCounts {
    /// Of values in nanoseconds and how often each was, ascending.
    fn of_ascending(recorded: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut counts = Self::default();
        for (value, count) in recorded {
            let lowest = BUCKETS.lowest_equivalent(value).min(*LAST);
            counts.total = counts.total.saturating_add(count);
            match counts.buckets.last_mut() {
                Some(last) if last.lowest == lowest => last.count = last.count.saturating_add(count),
                _ => counts.buckets.push(Bucket { lowest, count }),
            }
        }
        counts
    }

    /// Both together.
    pub fn with(self, more: Self) -> Self {
        if self.is_empty() {
            return more;
        }
        let mut buckets = self.buckets;
        buckets.extend(more.buckets);
        buckets.sort_by_key(|bucket| bucket.lowest);
        Self::of_ascending(buckets.iter().map(|bucket| (bucket.lowest, bucket.count)))
    }

    /// Counts them in a histogram that has the bounds of [`empty`].
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        for bucket in &self.buckets {
            histogram.saturating_record_n(bucket.lowest, bucket.count);
        }
    }

    /// True if there is no value.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// How many values there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Those with values, ascending.
    pub(crate) fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The value below which the fraction `quantile` of all values lies, interpolated within its bucket, and the lowest value of
    /// that bucket; both in nanoseconds, and 0 where there is no value.
    pub(crate) fn quantile(&self, quantile: f64) -> (f64, u64) {
        let wanted = quantile * self.total as f64;
        let mut before = 0_u64;
        let mut found = (0.0, 0);
        for bucket in &self.buckets {
            let until = before.saturating_add(bucket.count);
            let (low, high) = bucket.bounds();
            let share = (wanted - before as f64) / (until - before) as f64;
            found = (low + (high - low) * share, bucket.lowest);
            if until as f64 >= wanted {
                break;
            }
            before = until;
        }
        found
    }
}

#[cfg(test)]
mod tests;
