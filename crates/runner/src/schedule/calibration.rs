//! How long the slices of a cell are where a study does not say: as short as its load bears. The shorter they are, the more pairs fall
//! into the same time, and the less the machine changes within one (`record/pairing.md`).

use std::time::Duration;

use ciphertax_model::Study;
use ciphertax_records::Sample;

use super::course::{Course, passes};
use super::measure::{Measure, PlannedSlice};
use crate::error::Result;

/// The lengths to choose from, shortest first; the last is [`Study::SHORT_SLICE_S`].
const LENGTHS: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
];

/// Every arm is tried for so long.
pub(crate) const TRIED: Duration = Duration::from_millis(100);

/// So many operations lie in every slice, or their number alone would make the noise.
const FEWEST_OPERATIONS: f64 = 100.0;

/// Share of a slice that its end may take, when connections wait for the slowest of them without work: so a mean response, and what
/// a slice that was tried took longer than asked.
const MOST_AT_THE_END: f64 = 0.03;

/// Share of the time that may pass between slices, when clocks are read.
const MOST_BETWEEN: f64 = 0.1;

/// A slice that is void for what passes is tried again so often.
const TRIES: u32 = 3;

/// Share of a run's time that may pass with trials.
const MOST_TRIALS: f64 = 0.05;

/// So many blocks of a cell tell all that its time can tell; more would only make the run folder larger.
const MOST_BLOCKS: f64 = 2_000.0;

/// What a slice that was tried tells.
#[derive(Debug, Clone, Copy)]
struct Tried {
    /// Operations a second.
    rate: f64,
    /// The mean of the operations.
    response: Duration,
    /// What it took longer than asked.
    end: Duration,
    /// From its beginning to that of the next, less what it took.
    between: Duration,
}

impl Tried {
    fn of(sample: &Sample, whole: Duration) -> Self {
        let operations = sample.load.operations.iter();
        let (count, latency_ns) = operations.fold((0, 0), |(count, sum), kind| {
            (count + kind.count, sum + kind.latency_sum_ns)
        });
        let took = Duration::from_nanos(sample.load.duration_ns);
        Self {
            rate: count as f64 / took.max(TRIED).as_secs_f64(),
            response: Duration::from_nanos(latency_ns / count.max(1)),
            end: took.saturating_sub(TRIED),
            between: whole.saturating_sub(took),
        }
    }

    /// The better of two, of which the machine may have held up either.
    fn better(self, other: Self) -> Self {
        Self {
            rate: self.rate.max(other.rate),
            response: self.response.min(other.response),
            end: self.end.min(other.end),
            between: self.between.min(other.between),
        }
    }

    /// True if slices of this length are long enough.
    fn bears(&self, length: Duration) -> bool {
        self.rate * length.as_secs_f64() >= FEWEST_OPERATIONS
            && self.response.max(self.end) <= length.mul_f64(MOST_AT_THE_END)
            && self.between <= length.mul_f64(MOST_BETWEEN)
    }
}

/// Tries every arm of a cell, by its index, and tells how long its slices are. One that cannot be tried has the longest; so have all
/// once trials have taken too much of the `budget`.
pub(super) fn calibrate(
    (study, budget): (&Study, Duration),
    index: usize,
    course: &Course<'_>,
    measure: &mut dyn Measure,
) -> Result<Duration> {
    let slices = study.cells.len() * course.arms.len();
    let shortest = Duration::from_secs_f64(study.time_s / (MOST_BLOCKS * slices as f64));
    measure.begin_block(index)?;
    let mut tried = Vec::new();
    for slice in course.trial(TRIED) {
        if measure.is_stopped() || measure.elapsed() > budget.mul_f64(MOST_TRIALS) {
            return Ok(study.slice());
        }
        let Some(mut arm) = try_slice(index, &slice, measure)? else {
            return Ok(study.slice());
        };
        if !arm.bears(LENGTHS[0])
            && let Some(again) = try_slice(index, &slice, measure)?
        {
            arm = arm.better(again);
        }
        tried.push(arm);
        if length(&tried, shortest) == study.slice() {
            break;
        }
    }
    Ok(length(&tried, shortest))
}

/// `None` if the slice is void, again and again or for what does not pass; why is told when it is measured.
fn try_slice(index: usize, slice: &PlannedSlice<'_>, measure: &mut dyn Measure) -> Result<Option<Tried>> {
    for _ in 0..TRIES {
        let began = measure.elapsed();
        let sample = measure.slice(index, slice)?.sample;
        let whole = measure.elapsed().saturating_sub(began);
        if sample.is_valid() {
            return Ok(Some(Tried::of(&sample, whole)));
        }
        if !passes(&sample) {
            break;
        }
    }
    Ok(None)
}

fn length(tried: &[Tried], shortest: Duration) -> Duration {
    let mut lengths = LENGTHS.into_iter().filter(|length| *length >= shortest);
    let is_borne = |length: &Duration| tried.iter().all(|tried| tried.bears(*length));
    lengths.find(is_borne).unwrap_or(LENGTHS[LENGTHS.len() - 1])
}

/// The length that slices had which took so long, where it was found by trying.
pub(super) fn length_of(took: Duration) -> Duration {
    let nearest = LENGTHS.into_iter().min_by_key(|length| length.abs_diff(took));
    nearest.expect("there are some")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(rate: f64, response: Duration, between: Duration) -> Tried {
        Tried {
            rate,
            response,
            end: Duration::ZERO,
            between,
        }
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn slices_are_as_short_as_the_slowest_arm_bears() {
        let fast = tried(20_000.0, millis(1), millis(5));
        assert_eq!(length(&[fast, fast], Duration::ZERO), millis(50));
        // 900 operations a second are 90 in 0.1 s.
        let slow = tried(900.0, millis(1), millis(5));
        assert_eq!(length(&[fast, slow], Duration::ZERO), millis(200));
        // Responses of 4 ms are 3 % of 0.133 s.
        let far = tried(20_000.0, millis(4), millis(5));
        assert_eq!(length(&[far, fast], Duration::ZERO), millis(200));
        // Clocks that take 9 ms to read are a tenth of 0.09 s.
        // The last response came 5 ms after the end: 3 % of 0.167 s.
        let tail = Tried {
            end: millis(5),
            ..fast
        };
        assert_eq!(length(&[fast, tail], Duration::ZERO), millis(200));
        // Unless that was the machine's.
        assert_eq!(length(&[tail.better(fast)], Duration::ZERO), millis(50));
        let lazy = tried(20_000.0, millis(1), millis(9));
        assert_eq!(length(&[lazy], Duration::ZERO), millis(100));
        let still = tried(1.0, millis(1_000), millis(5));
        assert_eq!(length(&[still, fast], Duration::ZERO), millis(500));
    }

    #[test]
    fn the_longest_is_that_of_slices_of_which_nothing_is_known() {
        let longest = LENGTHS[LENGTHS.len() - 1];
        assert_eq!(longest.as_secs_f64(), Study::SHORT_SLICE_S);
        assert_eq!(LENGTHS[0].as_secs_f64(), *Study::SLICE_S.start());
    }

    #[test]
    fn a_run_of_many_hours_has_no_more_blocks_than_tell_something() {
        let fast = tried(20_000.0, millis(1), millis(5));
        assert_eq!(length(&[fast], millis(60)), millis(100));
        assert_eq!(length(&[fast], millis(5_000)), millis(500));
    }

    #[test]
    fn slices_of_a_run_that_goes_on_are_as_long_as_they_were() {
        assert_eq!(length_of(Duration::from_micros(50_160)), millis(50));
        assert_eq!(length_of(Duration::from_micros(203_900)), millis(200));
        assert_eq!(length_of(millis(2_500)), millis(500));
    }
}
