//! Paired blocks: ratios on the logarithmic scale, and differences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{StatsError, check_finite};
use crate::estimate::{Estimate, MeanEstimate};
use crate::spread::{Spread, student_quantile, sum_of_independent};
use ciphertax_base::Interval;

/// `ln(variant / baseline)` of each block.
///
/// # Errors
/// If the series have different lengths, or a value is not a finite number above zero.
pub fn log_ratios(baseline: &[f64], variant: &[f64]) -> Result<Vec<f64>, StatsError> {
    check_paired(baseline, variant)?;
    for series in [baseline, variant] {
        if let Some((block, &value)) = series.iter().enumerate().find(|(_, value)| **value <= 0.0) {
            return Err(StatsError::NotPositive { block, value });
        }
    }
    let pairs = baseline.iter().zip(variant);
    Ok(pairs.map(|(b, v)| v.ln() - b.ln()).collect())
}

fn check_paired(baseline: &[f64], variant: &[f64]) -> Result<(), StatsError> {
    if baseline.len() != variant.len() {
        return Err(StatsError::Unpaired {
            baseline: baseline.len(),
            variant: variant.len(),
        });
    }
    check_finite(baseline)?;
    check_finite(variant)
}

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

/// By how much the speed of what a feature adds differs between two states of one machine against the speed of all else, as the
/// standard deviation of a logarithm over runs of the same thing (`record/tomorrow.md`).
pub const DRIFT_BETWEEN_RUNS: f64 = 0.03;

/// How many runs that counts as, beside those that are given.
const RUNS_OF_DRIFT: f64 = 10.0;

impl LogRatio {
    /// The ratio of this ratio to the mean of those of earlier runs of the same thing; of none, this ratio. Runs are independent,
    /// so their variances add up, with the degrees of freedom of Welch and Satterthwaite.
    ///
    /// `drift` is what runs differ by besides, as [`DRIFT_BETWEEN_RUNS`], and in proportion to the part of an arm's work that it
    /// does more than the baseline: an arm that does nothing more differs by nothing. It counts as so many runs, with which those
    /// that are given are put together.
    #[must_use]
    pub fn against(&self, earlier: &[Self], drift: f64) -> Self {
        if earlier.is_empty() {
            return *self;
        }
        let runs = earlier.len() as f64;
        let mean = earlier.iter().map(|run| run.mean).sum::<f64>() / runs;
        let within = earlier.iter().map(|run| run.standard_error.powi(2)).sum::<f64>() / runs;
        let scatter: f64 = earlier.iter().map(|run| (run.mean - mean).powi(2)).sum();
        let most = mean.abs().max(self.mean.abs());
        let by_law = (drift * (1.0 - (-most).exp())).powi(2);
        let more_runs = RUNS_OF_DRIFT + runs - 1.0;
        let between = (RUNS_OF_DRIFT * by_law + (scatter - (runs - 1.0) * within).max(0.0)) / more_runs;
        let part = |variance: f64, degrees_of_freedom: f64| Spread {
            mean: 0.0,
            standard_error: variance.sqrt(),
            degrees_of_freedom,
            blocks: 0.0,
        };
        let freedom = earlier.iter().map(|run| run.degrees_of_freedom.max(1.0)).sum();
        let earlier = part(within / runs, freedom);
        let both = sum_of_independent(&self.spread(), &earlier);
        let sum = sum_of_independent(&both, &part(between * (1.0 + 1.0 / runs), more_runs));
        Self {
            mean: self.mean - mean,
            standard_error: sum.standard_error,
            degrees_of_freedom: sum.degrees_of_freedom,
        }
    }

    /// The part of the variance of [`LogRatio::against`] that longer runs have less of.
    pub fn variance_within_runs(&self, earlier: &[Self]) -> f64 {
        let runs = (earlier.len() as f64).max(1.0);
        let of_earlier: f64 = earlier.iter().map(|run| run.standard_error.powi(2)).sum();
        self.standard_error.powi(2) + of_earlier / runs.powi(2)
    }

    /// Half of the 95 % interval of the logarithm.
    pub fn half_width(&self) -> f64 {
        student_quantile(self.degrees_of_freedom.max(1.0)) * self.standard_error
    }

    /// The ratio less one with its 95 % interval, as a fraction.
    pub fn change(&self) -> Interval {
        Interval::around(self.mean, self.half_width()).map(f64::exp_m1)
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
            // Nobody asks for them.
            blocks: 0.0,
        }
    }
}

/// `variant − baseline` with its 95 % interval, made from the baseline's value over all blocks and the paired ratio: so it
/// says what `baseline · change` says, and a single odd block pulls it no further than the ratio.
///
/// `logs` are the logarithms of the baseline's values block by block, whose spread is the uncertainty of `baseline`;
/// empty where that is not known, and then it is taken as exact. Baseline and ratio are combined by variance recovery
/// (MOVER, Zou and Donner 2008) with the bounds of both, which keeps the sign: the interval excludes zero exactly if that
/// of the change does.
///
/// # Errors
/// If a logarithm is not finite.
pub fn difference(baseline: f64, logs: &[f64], ratio: &Estimate) -> Result<Interval, StatsError> {
    let relative = match logs.len() {
        0 | 1 => 0.0,
        _ => {
            let spread = MeanEstimate::of(logs)?;
            spread.high - spread.mean
        }
    };
    let value = baseline * ratio.change;
    let bound = |change: f64, sign: f64| {
        let by_ratio = value - baseline * change;
        // No more than all of it: a baseline is never negative.
        let by_baseline = relative.min(1.0) * baseline * change;
        value + sign * by_ratio.hypot(by_baseline)
    };
    Ok(Interval {
        value,
        low: bound(ratio.low, -1.0),
        high: bound(ratio.high, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_block_by_block() {
        let ratios = log_ratios(&[1.0, 2.0], &[2.0, 2.0]).unwrap();
        assert!((ratios[0] - 2.0_f64.ln()).abs() < 1e-15);
        assert_eq!(ratios[1], 0.0);
    }

    #[test]
    fn what_cannot_be_paired_is_an_error_that_names_the_block() {
        let unpaired = log_ratios(&[1.0], &[1.0, 2.0]);
        assert_eq!(
            unpaired,
            Err(StatsError::Unpaired {
                baseline: 1,
                variant: 2
            })
        );
        let zero = log_ratios(&[1.0, 1.0], &[1.0, 0.0]);
        assert_eq!(zero, Err(StatsError::NotPositive { block: 1, value: 0.0 }));
        let infinite = log_ratios(&[f64::INFINITY], &[1.0]);
        assert_eq!(
            infinite,
            Err(StatsError::NotFinite {
                block: 0,
                value: f64::INFINITY
            })
        );
    }

    fn ratio(logs: &[f64]) -> LogRatio {
        LogRatio::from(&Estimate::of_log_ratios(logs).unwrap())
    }

    #[test]
    fn it_has_the_interval_of_its_estimate() {
        let logs = [0.10, 0.12, 0.11, 0.09, 0.10, 0.13];
        let estimate = Estimate::of_log_ratios(&logs).unwrap();
        let change = ratio(&logs).change();
        let found = [change.value, change.low, change.high];
        assert_eq!(found, [estimate.change, estimate.low, estimate.high]);
        assert_eq!(ratio(&logs).p_value(), estimate.p_value);
    }

    #[test]
    fn of_two_runs_it_is_welchs_test() {
        // Alternating series pay for no serial correlation. s² = 1.2 and 4.8 over six: t = 2 / √(0.2 + 0.8) with
        // (1.0)² / (0.2²/5 + 0.8²/5) = 7.353 degrees of freedom.
        let before = ratio(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0]);
        let after = ratio(&[2.0, 6.0, 2.0, 6.0, 2.0, 6.0]);
        let over = after.against(&[before], 0.0);
        assert!((over.mean - 2.0).abs() < 1e-12);
        assert!((over.standard_error - 1.0).abs() < 1e-12);
        assert!((over.degrees_of_freedom - 7.352_94).abs() < 1e-4);
        assert!((before.against(&[after], 0.0).mean + 2.0).abs() < 1e-12);
    }

    #[test]
    fn runs_differ_by_a_drift_of_what_an_arm_does_more_and_by_what_those_that_are_given_show() {
        let exact = |mean: f64| LogRatio {
            mean,
            standard_error: 0.0,
            degrees_of_freedom: 9.0,
        };
        let error = |mean: f64, earlier: &[LogRatio]| exact(mean).against(earlier, 0.04).standard_error;
        // Nothing more; twice as much, so that half of it is; half the throughput. Two runs differ by √2 of one.
        assert_eq!(error(0.0, &[exact(0.0)]), 0.0);
        for mean in [2.0_f64.ln(), 0.5_f64.ln()] {
            let is_half = (error(mean, &[exact(mean)]) - 0.02 * 2.0_f64.sqrt()).abs() < 1e-12;
            assert!(is_half, "{mean}");
        }
        // Runs that agree say that there is less of it, runs that do not that there is more.
        let two = 2.0_f64.ln();
        let alike = error(two, &[exact(two); 5]);
        let unlike = [-0.2, -0.1, 0.0, 0.1, 0.2].map(|shift| exact(two + shift));
        assert!(alike < 0.02 && error(two, &unlike) > 0.08, "{alike}");
        assert_eq!(exact(0.3).against(&[], 0.04), exact(0.3));
    }

    #[test]
    fn one_side_has_half_of_both() {
        let ratio = ratio(&[0.2, 0.4, 0.2, 0.4, 0.2, 0.4]);
        assert!((2.0 * ratio.p_value_above(0.0) - ratio.p_value()).abs() < 1e-15);
        let (above, below) = (ratio.p_value_above(0.35), ratio.inverse().p_value_above(-0.35));
        let are_halves = (above + below - 1.0).abs() < 1e-12 && above > 0.5;
        assert!(are_halves, "{above} {below}");
    }

    #[test]
    fn two_runs_without_noise_differ_for_sure_or_not_at_all() {
        let (one, other) = (ratio(&[0.125; 6]), ratio(&[0.25; 6]));
        assert_eq!(other.against(&[one], 0.0).p_value(), 0.0);
        assert_eq!(one.against(&[one], 0.0).p_value(), 1.0);
        assert_eq!(one.against(&[one], 0.0).half_width(), 0.0);
    }

    fn estimate_of(logs: &[f64]) -> Estimate {
        Estimate::of_log_ratios(logs).unwrap()
    }

    #[test]
    fn with_a_steady_baseline_it_is_the_interval_of_the_change_times_the_baseline() {
        let ratio = estimate_of(&[0.10, 0.12, 0.11, 0.09, 0.10, 0.12]);
        let found = difference(20.0, &[3.0; 6], &ratio).unwrap();
        assert!((found.value - 20.0 * ratio.change).abs() < 1e-12);
        assert!((found.low - 20.0 * ratio.low).abs() < 1e-9);
        assert!((found.high - 20.0 * ratio.high).abs() < 1e-9);
    }

    #[test]
    fn an_unsteady_baseline_widens_it() {
        let ratio = estimate_of(&[0.10, 0.12, 0.11, 0.09, 0.10, 0.12]);
        let found = difference(20.0, &[2.7, 3.3, 2.8, 3.2, 3.1, 2.9], &ratio).unwrap();
        assert!(found.low < 20.0 * ratio.low && found.high > 20.0 * ratio.high);
    }

    #[test]
    fn it_excludes_zero_exactly_if_the_change_does() {
        let baseline = [2.0, 4.0, 2.5, 3.5, 3.0, 1.0];
        for shift in [-0.3, -0.022, -0.02, -0.01, 0.0, 0.01, 0.02, 0.022, 0.3] {
            let logs: Vec<f64> = [0.02, -0.02, 0.02, -0.02, 0.02, -0.02]
                .iter()
                .map(|noise| shift + noise)
                .collect();
            let ratio = estimate_of(&logs);
            let found = difference(20.0, &baseline, &ratio).unwrap();
            let excludes = found.low > 0.0 || found.high < 0.0;
            assert_eq!(excludes, ratio.excludes_zero(), "{shift}: {found:?} {ratio:?}");
        }
    }

    #[test]
    fn one_block_of_few_and_slow_operations_does_not_ruin_it() {
        // Twenty blocks of 20 and 22 µs; in one more the variant's operations took 3 ms.
        let mut logs = vec![1.1_f64.ln(); 20];
        logs.push((3_000.0_f64 / 20.0).ln());
        let found = difference(20.0, &[20.0_f64.ln(); 21], &estimate_of(&logs)).unwrap();
        let mut by_blocks = vec![22.0 - 20.0; 20];
        by_blocks.push(3_000.0 - 20.0);
        let naive = MeanEstimate::of(&by_blocks).unwrap();
        assert!((found.value - 2.0).abs() < 6.0, "{found:?}");
        assert!(naive.mean > 100.0);
        assert!(found.high - found.low < 0.1 * (naive.high - naive.low));
    }
}
