//! How long before it begins a slice has to be called.

use std::collections::VecDeque;
use std::time::Duration;

/// At least so long, besides what a message takes.
const LEAST: Duration = Duration::from_millis(1);
/// But no longer.
const LONGEST: Duration = Duration::from_secs(1);
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
        (LEAST + slow + slow / 2).min(LONGEST)
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
        self.took.push_back(took.min(LONGEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(lead.now(), LONGEST);
    }
}
