//! What is measured next, what counts, and when it is enough: whoever measures is behind [`Measure`], so none of this knows
//! a database, a process or a clock.

mod course;
mod measure;
mod open_loop;
mod rounds;
mod slice;
#[cfg(test)]
mod tests;
mod void;

use std::time::Duration;

use ciphertax_records::Sample;

pub(crate) use course::Course;
pub(crate) use measure::Measure;
pub(crate) use rounds::Rounds;
pub(crate) use slice::{Measured, PlannedSlice};
pub(crate) use void::{Outcome, reason_of, void_reason};

/// The time from the beginning of a run to the end of its last sample.
pub(crate) fn time_of(samples: &[Sample]) -> Duration {
    Duration::from_nanos(samples.iter().map(Sample::end_ns).max().unwrap_or(0))
}
