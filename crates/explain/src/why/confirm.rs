//! Whether taking a bound away showed that it was one.

use ciphertax_records::why::Confirmation;
use ciphertax_stats::Interval;

/// What takes a fifth to a half of every round trip, and is gone, makes an arm faster by at least as much as this, as a fraction;
/// what cannot have made it this much faster was not its bound.
const SMALLEST_GAIN: f64 = 0.10;

/// What follows from how much faster an arm is without its bound: the change of its throughput as a fraction with its 95 %
/// interval, beside the `floor`, the change that the baseline shows against itself. For a probe that tightens the bound instead,
/// such as a CPU less, the change is that without the probe against that with it.
pub fn confirmation(change: Interval, floor: f64) -> Confirmation {
    if change.low > floor.max(0.0) {
        Confirmation::Confirmed
    } else if change.high < SMALLEST_GAIN.max(floor) {
        Confirmation::Refuted
    } else {
        Confirmation::CannotTell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: f64, high: f64, floor: f64) -> Confirmation {
        let value = f64::midpoint(low, high);
        confirmation(Interval { value, low, high }, floor)
    }

    #[test]
    fn what_makes_an_arm_faster_beyond_the_noise_was_its_bound() {
        assert_eq!(of(0.40, 0.51, 0.03), Confirmation::Confirmed);
        assert_eq!(of(0.02, 0.51, 0.03), Confirmation::CannotTell);
    }

    #[test]
    fn what_makes_it_no_faster_was_not() {
        assert_eq!(of(-0.09, 0.07, 0.03), Confirmation::Refuted);
        assert_eq!(of(-0.20, -0.10, 0.03), Confirmation::Refuted);
    }

    #[test]
    fn what_may_be_either_is_not_told() {
        assert_eq!(of(-0.10, 0.25, 0.03), Confirmation::CannotTell);
    }
}
