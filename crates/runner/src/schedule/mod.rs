//! What is measured next, what counts, and when it is enough: whoever measures is behind [`Measure`], so none of this knows
//! a database, a process or a clock.

mod calibration;
mod course;
mod measure;
mod open_loop;
mod rounds;
#[cfg(test)]
mod tests;
mod void;

use std::time::Duration;

use ciphertax_records::{Round, Sample, SampleLog};

pub(crate) use calibration::TRIED;
pub(crate) use course::Course;
pub(crate) use measure::{Looked, Measure, Measured, PlannedSlice};
pub(crate) use rounds::Rounds;
pub(crate) use void::{Outcome, cells_differ, reason_of, relay_differs, void_reason};

/// The time from the beginning of a run to the end of what was measured last.
pub(crate) fn time_of(log: &SampleLog) -> Duration {
    let samples = log.samples.iter().map(Sample::end_ns);
    let rounds = log.rounds.iter().map(Round::end_ns);
    Duration::from_nanos(samples.chain(rounds).max().unwrap_or(0))
}
