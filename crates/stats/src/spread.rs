//! How far the mean of a series may lie from the truth.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::StatsError;
use crate::paired::check_finite;

/// Two-sided 95 % of the normal distribution; Student's quantile is never smaller.
pub(crate) const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// The mean of a series and the uncertainty of that mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
    pub(crate) degrees_of_freedom: f64,
    pub(crate) blocks: f64,
    pub(crate) effective_blocks: f64,
}

impl Spread {
    /// The standard error of the mean is that of `effective_blocks` independent values (see [`Dependence`]),
    /// and the variance is corrected for being taken around the mean of dependent values: s²·(n−1) /
    /// (n·(nₑ−1)).
    pub(crate) fn of(series: &[f64]) -> Result<Self, StatsError> {
        if series.len() < 2 {
            return Err(StatsError::TooFewBlocks { blocks: series.len() });
        }
        check_finite(series)?;
        let n = series.len() as f64;
        let mean = series.iter().sum::<f64>() / n;
        let variance = series.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let dependence = Dependence::of(series);
        Ok(Self {
            mean,
            standard_error: (variance / n * dependence.variance_inflation).sqrt(),
            degrees_of_freedom: dependence.degrees_of_freedom,
            blocks: n,
            effective_blocks: dependence.effective_blocks,
        })
    }

    /// Half of the 95 % interval.
    pub(crate) fn half_width(&self) -> f64 {
        student_quantile(self.degrees_of_freedom) * self.standard_error
    }

    /// Two-sided p-value of "the true mean is zero".
    pub(crate) fn p_value(&self) -> f64 {
        match (self.mean == 0.0, self.standard_error == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => {
                2.0 * student(self.degrees_of_freedom).sf((self.mean / self.standard_error).abs())
            }
        }
    }

    /// What more blocks of the same noise would give.
    pub(crate) fn projected_to(&self, blocks: u32) -> Self {
        let growth = f64::from(blocks) / self.blocks;
        Self {
            mean: self.mean,
            standard_error: self.standard_error / growth.sqrt(),
            degrees_of_freedom: (self.degrees_of_freedom + 1.0) * growth - 1.0,
            blocks: f64::from(blocks),
            effective_blocks: self.effective_blocks * growth,
        }
    }
}

/// Serial correlation of a series, taken as first-order autoregressive, and what it costs. It only ever
/// widens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dependence {
    /// Independent values that would give as much precision: n·(1−r)/(1+r).
    pub(crate) effective_blocks: f64,
    /// Degrees of freedom of the sample variance: n·(1−r²)/(1+r²) − 1 (Bayley and Hammersley 1946).
    pub(crate) degrees_of_freedom: f64,
    /// Factor on s²/n; at least 1.
    pub(crate) variance_inflation: f64,
}

impl Dependence {
    pub(crate) fn of(series: &[f64]) -> Self {
        let n = series.len() as f64;
        // Few blocks cannot tell a correlation near 1 from a drift; two effective blocks are the least that
        // have a spread.
        let most = (n - 2.0) / (n + 2.0);
        let r = lag_one_correlation(series).clamp(0.0, most.max(0.0));
        let effective_blocks = n * (1.0 - r) / (1.0 + r);
        Self {
            effective_blocks,
            degrees_of_freedom: (n * (1.0 - r * r) / (1.0 + r * r) - 1.0).max(1.0),
            variance_inflation: (n - 1.0) / (effective_blocks - 1.0),
        }
    }
}

/// First-order bias corrected: the sample correlation of n independent values is −1/n on average (Kendall
/// 1954).
fn lag_one_correlation(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let sum_of_squares: f64 = series.iter().map(|x| (x - mean).powi(2)).sum();
    if sum_of_squares == 0.0 {
        return 0.0;
    }
    let products: f64 = series
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    products / sum_of_squares + 1.0 / n
}

/// Upper 2.5 % point of Student's distribution.
fn student_quantile(degrees_of_freedom: f64) -> f64 {
    student(degrees_of_freedom).inverse_cdf(0.975)
}

fn student(degrees_of_freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees_of_freedom).expect("degrees of freedom are at least one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in [
            (1.0, 12.706_204_7),
            (4.0, 2.776_445_1),
            (9.0, 2.262_157_2),
            (30.0, 2.042_272_5),
            (1_000.0, 1.962_339_1),
        ] {
            let got = student_quantile(freedom);
            assert!((got - quantile).abs() < 1e-6, "{freedom}: {got}");
        }
    }

    #[test]
    fn without_correlation_it_is_the_textbook_interval() {
        // Lag-one correlation of an alternating series is negative: nothing to pay.
        let series = [1.0, 3.0, 1.0, 3.0, 1.0, 3.0];
        let spread = Spread::of(&series).unwrap();
        assert_eq!(spread.effective_blocks, 6.0);
        assert_eq!(spread.degrees_of_freedom, 5.0);
        assert!((spread.standard_error - (1.2_f64 / 6.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_wandering_series_counts_for_fewer_blocks() {
        let series: Vec<f64> = (0..20).map(|i| if i < 10 { 0.0 } else { 1.0 }).collect();
        let dependence = Dependence::of(&series);
        assert!(dependence.effective_blocks < 3.0);
        assert!(dependence.variance_inflation > 10.0);
    }

    #[test]
    fn a_constant_series_is_certain() {
        let spread = Spread::of(&[0.5; 5]).unwrap();
        assert_eq!((spread.half_width(), spread.p_value()), (0.0, 0.0));
        assert_eq!(Spread::of(&[0.0; 5]).unwrap().p_value(), 1.0);
    }
}
