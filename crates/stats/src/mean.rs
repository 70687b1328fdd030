//! The mean of a series with its interval.

use crate::error::StatsError;
use crate::spread::Spread;

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
    /// Independent blocks that would tell as much; never more than `blocks`.
    pub effective_blocks: f64,
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
            effective_blocks: spread.effective_blocks,
            p_value: spread.p_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            MeanEstimate::of(&[1.0]),
            Err(StatsError::TooFewBlocks { blocks: 1 })
        );
    }
}
