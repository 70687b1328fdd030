//! Estimates with their intervals, and means.

use ciphertax_base::Interval;

use crate::error::StatsError;
use crate::paired::log_ratios;
use crate::spread::Spread;

/// The ratio variant/baseline less one, with its 95 % interval. Made on the logarithmic scale, where a
/// slowdown by a factor and a speed-up by the same factor are equally far from nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Change as a fraction: exp(`log_mean`) − 1.
    pub change: f64,
    /// Lower bound of the interval of `change`.
    pub low: f64,
    /// Upper bound of the interval of `change`.
    pub high: f64,
    /// Estimated log-ratio: the mean or another location of the blocks' log-ratios, or the log-ratio of merged percentiles.
    pub log_mean: f64,
    /// Standard error of `log_mean`.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Blocks it rests on.
    pub blocks: u32,
    /// Two-sided p-value of "there is no change".
    pub p_value: f64,
}

impl Estimate {
    /// Estimates the change from the values of each block, paired by position and in the order they were
    /// measured.
    ///
    /// # Errors
    /// If the series have different lengths or fewer than two blocks, or a value is not a finite number above
    /// zero.
    pub fn of_pairs(baseline: &[f64], variant: &[f64]) -> Result<Self, StatsError> {
        Self::of_log_ratios(&log_ratios(baseline, variant)?)
    }

    /// Estimates the change from the log-ratios of the blocks, in the order they were measured.
    ///
    /// # Errors
    /// If there are fewer than two blocks, or a value is not finite.
    pub fn of_log_ratios(series: &[f64]) -> Result<Self, StatsError> {
        Spread::of(series).map(Self::from)
    }

    /// The same by a location that few blocks far from the others hardly move. It is right for two arms that differ in nothing
    /// but noise, as the repeated baseline and the baseline; a variant is compared by
    /// [`both_baselines`](crate::both_baselines), which knows when not to.
    ///
    /// # Errors
    /// As [`Estimate::of_log_ratios`].
    pub fn robust_of_log_ratios(series: &[f64]) -> Result<Self, StatsError> {
        Spread::robust(series).map(Self::from)
    }

    /// The change with its interval.
    pub fn interval(&self) -> Interval {
        Interval {
            value: self.change,
            low: self.low,
            high: self.high,
        }
    }

    /// Half the length of the interval of `change`, as a fraction.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// True if "no change" lies outside the interval.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    pub(crate) fn spread(&self) -> Spread {
        Spread {
            mean: self.log_mean,
            standard_error: self.standard_error,
            degrees_of_freedom: self.degrees_of_freedom,
            blocks: f64::from(self.blocks),
        }
    }
}

impl From<Spread> for Estimate {
    fn from(spread: Spread) -> Self {
        let log = MeanEstimate::from(spread);
        Self {
            change: log.mean.exp_m1(),
            low: log.low.exp_m1(),
            high: log.high.exp_m1(),
            log_mean: log.mean,
            standard_error: log.standard_error,
            degrees_of_freedom: log.degrees_of_freedom,
            blocks: log.blocks,
            p_value: log.p_value,
        }
    }
}

/// The mean of a series of block values with its 95 % interval by Student's t, widened for serial
/// correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// The mean, in the unit of the series.
    pub mean: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Length of the series.
    pub blocks: u32,
    /// Two-sided p-value of "the true mean is zero".
    pub p_value: f64,
}

impl MeanEstimate {
    /// Estimates the mean of a series given in the order it was measured.
    ///
    /// # Errors
    /// If there are fewer than two blocks, or a value is not finite.
    pub fn of(series: &[f64]) -> Result<Self, StatsError> {
        Spread::of(series).map(Self::from)
    }
}

impl From<Spread> for MeanEstimate {
    fn from(spread: Spread) -> Self {
        let half_width = spread.half_width();
        Self {
            mean: spread.mean,
            low: spread.mean - half_width,
            high: spread.mean + half_width,
            standard_error: spread.standard_error,
            degrees_of_freedom: spread.degrees_of_freedom,
            blocks: spread.blocks as u32,
            p_value: spread.p_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_factor_is_found_exactly() {
        let estimate = Estimate::of_pairs(&[1.0, 2.0, 4.0], &[1.5, 3.0, 6.0]).unwrap();
        assert!((estimate.change - 0.5).abs() < 1e-12);
        assert!(estimate.half_width() < 1e-12);
        assert!(estimate.excludes_zero());
    }

    #[test]
    fn matches_a_one_sample_t_test() {
        // t = 1.5 / √(0.3 / 4) with 3 degrees of freedom, whose distribution function has a closed form.
        let estimate = MeanEstimate::of(&[0.9, 2.1, 1.2, 1.8]).unwrap();
        assert!((estimate.mean - 1.5).abs() < 1e-12);
        assert!((estimate.low - 0.628_5).abs() < 1e-4, "{estimate:?}");
        assert!((estimate.high - 2.371_5).abs() < 1e-4);
        assert!((estimate.p_value - 0.011_96).abs() < 1e-4);
    }

    #[test]
    fn one_block_has_no_interval() {
        let found = MeanEstimate::of(&[1.0]);
        assert_eq!(found, Err(StatsError::TooFewBlocks { blocks: 1 }));
    }
}
