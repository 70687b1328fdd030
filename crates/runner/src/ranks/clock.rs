//! Clocks of several machines, and how long before it begins a slice has to be called.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock in nanoseconds, which all processes under one kernel share.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64) * 1_000_000_000 + now.tv_nsec as u64
}

/// What that clock says at an instant.
pub(super) fn ns_of(instant: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), now_ns());
    match now.checked_duration_since(instant) {
        Some(past) => now_ns.saturating_sub(past.as_nanos() as u64),
        None => now_ns + (instant - now).as_nanos() as u64,
    }
}

/// The instant at which that clock says so.
pub(super) fn instant_of(ns: u64) -> Instant {
    let (now, now_ns) = (Instant::now(), now_ns());
    match ns.checked_sub(now_ns) {
        Some(ahead) => now + Duration::from_nanos(ahead),
        None => now.checked_sub(Duration::from_nanos(now_ns - ns)).unwrap_or(now),
    }
}

/// Another machine's clock beside this one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// What is added to this clock to have the other.
    pub(super) ns: i64,
    /// By how much that may be wrong.
    pub(super) error_ns: u64,
}

impl Offset {
    /// Of a clock that is this one.
    pub(super) const NONE: Self = Self { ns: 0, error_ns: 0 };

    /// From questions that were asked and answered at so many nanoseconds of this clock, while the other said so: that which took
    /// least time says most (Cristian 1989, <https://doi.org/10.1007/BF01784024>). `None` where nothing was asked.
    pub(super) fn from_answers(answers: &[(u64, u64, u64)]) -> Option<Self> {
        let best = answers
            .iter()
            .min_by_key(|(asked, answered, _)| answered.saturating_sub(*asked))?;
        let (asked, answered, theirs) = *best;
        let half = answered.saturating_sub(asked) / 2;
        Some(Self {
            ns: theirs as i64 - (asked + half) as i64,
            error_ns: half,
        })
    }

    /// What the other clock says when this one says so.
    pub(super) fn there(self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ns)
    }

    /// What this clock says when the other says so.
    pub(super) fn here(self, there_ns: u64) -> u64 {
        there_ns.saturating_add_signed(-self.ns)
    }
}

/// A slice is called at least so long before it begins, besides what a message takes.
const LEAST_LEAD: Duration = Duration::from_millis(1);
/// But no longer before it.
const LONGEST_LEAD: Duration = Duration::from_secs(1);
/// The slices whose calls are remembered.
const REMEMBERED: usize = 32;

/// As long as the last calls took to be heard, all but the slowest, and half as much again: a slice now and then that is void costs less
/// than that all others wait. A slice that began late although its call was heard in time is none that an earlier call would help.
#[derive(Debug, Default)]
pub(super) struct Lead {
    /// How long calls took to be heard by the last that heard them.
    took: VecDeque<Duration>,
}

impl Lead {
    pub(super) fn now(&self) -> Duration {
        let mut took: Vec<Duration> = self.took.iter().copied().collect();
        took.sort_unstable();
        let slow = took
            .iter()
            .rev()
            .nth(1)
            .or(took.last())
            .copied()
            .unwrap_or_default();
        (LEAST_LEAD + slow + slow / 2).min(LONGEST_LEAD)
    }

    /// A slice was called `lead` before it began, and the last who heard of it did so that many nanoseconds before. Who heard of it
    /// afterwards did so while others worked, which says nothing of what a call takes before.
    pub(super) fn heard(&mut self, lead: Duration, before_ns: i64) {
        let took = (lead.as_nanos() as i64).saturating_sub(before_ns);
        self.took(Duration::from_nanos(took.max(0) as u64).min(2 * lead));
    }

    /// A message took so long.
    pub(super) fn took(&mut self, took: Duration) {
        if self.took.len() == REMEMBERED {
            self.took.pop_front();
        }
        self.took.push_back(took.min(LONGEST_LEAD));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_that_of_the_quickest_answer_and_wrong_by_half_its_time_at_most() {
        // The other clock is 1,000 ahead; the ways there and back take 30 and 10, then 500 and 0.
        let offset = Offset::from_answers(&[(2_000, 2_500, 3_500), (5_000, 5_040, 6_030)]).unwrap();
        assert_eq!(
            offset,
            Offset {
                ns: 1_010,
                error_ns: 20
            }
        );
        assert!((offset.ns - 1_000).unsigned_abs() <= offset.error_ns);
        assert_eq!(offset.here(offset.there(77)), 77);
        assert_eq!(Offset::from_answers(&[]), None);
    }

    #[test]
    fn an_instant_goes_to_the_clock_and_back() {
        for instant in [Instant::now(), Instant::now() + Duration::from_secs(3)] {
            let began = Instant::now();
            let back = instant_of(ns_of(instant));
            // Two clocks are read one after the other, twice.
            let apart = back.max(instant) - back.min(instant);
            assert!(apart <= began.elapsed(), "{apart:?}");
        }
    }

    fn ms(time: f64) -> Duration {
        Duration::from_secs_f64(time / 1e3)
    }

    #[test]
    fn it_follows_the_slowest_call_but_one_that_is_remembered_up_and_down() {
        let mut lead = Lead::default();
        lead.took(ms(0.4));
        assert_eq!(lead.now(), ms(1.6));
        // Heard 1 ms after the slice should have begun: the calls took 2.6 ms.
        lead.heard(lead.now(), -1_000_000);
        assert_eq!(lead.now(), ms(1.6));
        lead.heard(lead.now(), -1_000_000);
        assert_eq!(lead.now(), ms(4.9));
        // Twice as early at once is early enough.
        for _ in 0..2 {
            lead.heard(ms(2.0), -90_000_000);
        }
        assert_eq!(lead.now(), ms(7.0));
        for _ in 0..REMEMBERED {
            lead.heard(lead.now(), lead.now().as_nanos() as i64 - 200_000);
        }
        assert_eq!(lead.now(), ms(1.3));
        for _ in 0..20 {
            lead.heard(lead.now(), i64::MIN / 2);
        }
        assert_eq!(lead.now(), LONGEST_LEAD);
    }
}
