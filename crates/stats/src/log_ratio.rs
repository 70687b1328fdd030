//! A ratio of a run with its uncertainty, and how it compares with that of another run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::interval::Interval;
use crate::spread::{Spread, sum_of_independent};

/// The logarithm of the ratio variant/baseline of one run, and how far it may lie from the truth: all that is needed to set it
/// beside that of another run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogRatio {
    /// The logarithm of the ratio.
    pub mean: f64,
    /// Its standard error, serial correlation of the blocks included.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
}

impl From<&Estimate> for LogRatio {
    fn from(estimate: &Estimate) -> Self {
        Self {
            mean: estimate.log_mean,
            standard_error: estimate.standard_error,
            degrees_of_freedom: estimate.degrees_of_freedom,
        }
    }
}

impl LogRatio {
    /// The ratio of this ratio to that of another run. Runs are independent, so their variances add up, with the degrees of
    /// freedom of Welch and Satterthwaite.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let sum = sum_of_independent(&self.spread(), &other.spread());
        Self {
            mean: self.mean - other.mean,
            standard_error: sum.standard_error,
            degrees_of_freedom: sum.degrees_of_freedom,
        }
    }

    /// Half of the 95 % interval of the logarithm.
    pub fn half_width(&self) -> f64 {
        self.spread().half_width()
    }

    /// The ratio less one with its 95 % interval, as a fraction.
    pub fn change(&self) -> Interval {
        let half_width = self.half_width();
        Interval {
            value: self.mean.exp_m1(),
            low: (self.mean - half_width).exp_m1(),
            high: (self.mean + half_width).exp_m1(),
        }
    }

    /// Of a baseline against itself: the smallest difference that counts, the larger of the size of the logarithm and its
    /// half-width.
    pub fn noise_floor(&self) -> f64 {
        self.mean.abs().max(self.half_width())
    }

    /// Two-sided p-value of "the logarithm of the ratio is zero".
    pub fn p_value(&self) -> f64 {
        self.spread().p_value()
    }

    /// One-sided p-value of "the logarithm of the ratio is no larger than `bound`".
    pub(crate) fn p_value_above(&self, bound: f64) -> f64 {
        let excess = Spread {
            mean: self.mean - bound,
            ..self.spread()
        };
        match excess.mean > 0.0 {
            true => excess.p_value() / 2.0,
            false => 1.0 - excess.p_value() / 2.0,
        }
    }

    /// The same of the inverse ratio.
    pub(crate) fn inverse(&self) -> Self {
        Self {
            mean: -self.mean,
            ..*self
        }
    }

    fn spread(&self) -> Spread {
        Spread {
            mean: self.mean,
            standard_error: self.standard_error,
            degrees_of_freedom: self.degrees_of_freedom.max(1.0),
            // Neither is asked of it.
            blocks: 0.0,
            effective_blocks: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(logs: &[f64]) -> LogRatio {
        LogRatio::from(&Estimate::of_log_ratios(logs).unwrap())
    }

    #[test]
    fn it_has_the_interval_of_its_estimate() {
        let logs = [0.10, 0.12, 0.11, 0.09, 0.10, 0.13];
        let estimate = Estimate::of_log_ratios(&logs).unwrap();
        let change = ratio(&logs).change();
        assert_eq!(
            [change.value, change.low, change.high],
            [estimate.change, estimate.low, estimate.high]
        );
        assert_eq!(ratio(&logs).p_value(), estimate.p_value);
    }

    #[test]
    fn of_two_runs_it_is_welchs_test() {
        // Alternating series pay for no serial correlation. s² = 1.2 and 4.8 over six: t = 2 / √(0.2 + 0.8) with
        // (1.0)² / (0.2²/5 + 0.8²/5) = 7.353 degrees of freedom.
        let before = ratio(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0]);
        let after = ratio(&[2.0, 6.0, 2.0, 6.0, 2.0, 6.0]);
        let over = after.over(&before);
        assert!((over.mean - 2.0).abs() < 1e-12);
        assert!((over.standard_error - 1.0).abs() < 1e-12);
        assert!((over.degrees_of_freedom - 7.352_94).abs() < 1e-4);
        assert!((before.over(&after).mean + 2.0).abs() < 1e-12);
    }

    #[test]
    fn one_side_has_half_of_both() {
        let ratio = ratio(&[0.2, 0.4, 0.2, 0.4, 0.2, 0.4]);
        assert!((2.0 * ratio.p_value_above(0.0) - ratio.p_value()).abs() < 1e-15);
        let (above, below) = (ratio.p_value_above(0.35), ratio.inverse().p_value_above(-0.35));
        assert!(
            (above + below - 1.0).abs() < 1e-12 && above > 0.5,
            "{above} {below}"
        );
    }

    #[test]
    fn two_runs_without_noise_differ_for_sure_or_not_at_all() {
        let (one, other) = (ratio(&[0.125; 6]), ratio(&[0.25; 6]));
        assert_eq!(other.over(&one).p_value(), 0.0);
        assert_eq!(one.over(&one).p_value(), 1.0);
        assert_eq!(one.over(&one).half_width(), 0.0);
    }
}
