//! How far the location of a series may lie from the truth.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::{StatsError, check_finite};
use crate::location::Located;

/// Two-sided 95 % of the normal distribution; Student's quantile is never smaller.
pub(crate) const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// Batches in time whose means tell the spread of what wanders for longer than a block; below so many blocks each is a batch.
const BATCHES: usize = 10;

/// The location of a series, mostly its mean, and the uncertainty of that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
    pub(crate) degrees_of_freedom: f64,
    pub(crate) blocks: f64,
}

impl Spread {
    /// The mean of a series.
    pub(crate) fn of(series: &[f64]) -> Result<Self, StatsError> {
        if series.len() < 2 {
            return Err(StatsError::TooFewBlocks { blocks: series.len() });
        }
        check_finite(series)?;
        Ok(Self::around(&Located::mean(series)))
    }

    /// The same by a location that few blocks far from the others hardly move.
    pub(crate) fn robust(series: &[f64]) -> Result<Self, StatsError> {
        if series.len() < 2 {
            return Err(StatsError::TooFewBlocks { blocks: series.len() });
        }
        check_finite(series)?;
        Ok(Self::around(&Located::robust(series)))
    }

    /// The standard error of a location is that of the mean of its influence series.
    ///
    /// Of n blocks only h count with their own value, so that the degrees of freedom are h−1, and the variance is divided by
    /// h−1 where n−1 would do for a mean, as for a trimmed mean (Tukey and McLaughlin 1963; Yuen 1974).
    pub(crate) fn around(located: &Located) -> Self {
        let (n, h) = (located.influence.len() as f64, located.within);
        let variance = sum_of_squares(&located.influence) / n * h / (n * (h - 1.0));
        Self::of_dependent(located.value, variance, &located.influence, (h - 1.0) / (n - 1.0))
    }

    /// The spread of what has this variance if blocks are independent. `series` tells how they depend on each other: what is
    /// wider counts of a first-order autoregressive series ([`Dependence`]) and of [`BATCHES`] means in time, which know what
    /// wanders slowly (Schmeiser 1982). `freedom` is the part of the degrees of freedom that the former has.
    pub(crate) fn of_dependent(mean: f64, variance: f64, series: &[f64], freedom: f64) -> Self {
        let dependence = Dependence::of(series);
        let spread = |inflation: f64, degrees_of_freedom: f64| Self {
            mean,
            standard_error: (variance * inflation).sqrt(),
            degrees_of_freedom: degrees_of_freedom.max(1.0),
            blocks: series.len() as f64,
        };
        let by_lag = spread(
            dependence.variance_inflation,
            dependence.degrees_of_freedom * freedom,
        );
        let (inflation, batches) = batch_inflation(series);
        let by_batches = spread(inflation, batches - 1.0);
        match by_batches.half_width() > by_lag.half_width() {
            true => by_batches,
            false => by_lag,
        }
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

    /// What more blocks of the same noise would give; there are no more batches.
    pub(crate) fn projected_to(&self, blocks: u32) -> Self {
        let growth = f64::from(blocks) / self.blocks;
        let of_batches = BATCHES as f64 - 1.0;
        let most = match self.degrees_of_freedom > of_batches {
            true => f64::INFINITY,
            false => of_batches,
        };
        Self {
            mean: self.mean,
            standard_error: self.standard_error / growth.sqrt(),
            degrees_of_freedom: ((self.degrees_of_freedom + 1.0) * growth - 1.0).min(most),
            blocks: f64::from(blocks),
        }
    }
}

/// The squares of the distances from the mean, added up.
fn sum_of_squares(series: &[f64]) -> f64 {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    series.iter().map(|x| (x - mean).powi(2)).sum()
}

/// By which factor the means of batches in time vary more than those of independent blocks would, and how many batches there are.
fn batch_inflation(series: &[f64]) -> (f64, f64) {
    let n = series.len();
    let batches = n.min(BATCHES);
    let mean = series.iter().sum::<f64>() / n as f64;
    let of_batch = |batch: usize| {
        let blocks = &series[batch * n / batches..(batch + 1) * n / batches];
        let deviation = blocks.iter().map(|x| x - mean).sum::<f64>();
        deviation.powi(2) / blocks.len() as f64
    };
    let between: f64 = (0..batches).map(of_batch).sum();
    let by_blocks = sum_of_squares(series) / (n as f64 - 1.0);
    let inflation = match by_blocks > 0.0 {
        true => between / (batches as f64 - 1.0) / by_blocks,
        false => 1.0,
    };
    (inflation, batches as f64)
}

/// Serial correlation of a series, taken as first-order autoregressive, and what it costs: n·(1−r)/(1+r) independent values would
/// give as much precision. It only ever widens.
#[derive(Debug, Clone, Copy)]
struct Dependence {
    /// Of the sample variance: n·(1−r²)/(1+r²) − 1 (Bayley and Hammersley 1946).
    degrees_of_freedom: f64,
    /// Factor on s²/n, at least 1: with the variance corrected for being taken around the mean of dependent values.
    variance_inflation: f64,
}

impl Dependence {
    fn of(series: &[f64]) -> Self {
        let n = series.len() as f64;
        // Few blocks cannot tell a correlation near 1 from a drift; two effective blocks are the least that
        // have a spread.
        let most = (n - 2.0) / (n + 2.0);
        let r = lag_one_correlation(series).clamp(0.0, most.max(0.0));
        let effective_blocks = n * (1.0 - r) / (1.0 + r);
        Self {
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
    let sum_of_squares = sum_of_squares(series);
    if sum_of_squares == 0.0 {
        return 0.0;
    }
    let products: f64 = series
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    products / sum_of_squares + 1.0 / n
}

/// The sum of two independent means, with the degrees of freedom of Welch and Satterthwaite.
pub(crate) fn sum_of_independent(a: &Spread, b: &Spread) -> Spread {
    let (variance_a, variance_b) = (a.standard_error.powi(2), b.standard_error.powi(2));
    let variance = variance_a + variance_b;
    let welch = variance.powi(2)
        / (variance_a.powi(2) / a.degrees_of_freedom + variance_b.powi(2) / b.degrees_of_freedom);
    Spread {
        mean: a.mean + b.mean,
        standard_error: variance.sqrt(),
        degrees_of_freedom: if variance > 0.0 { welch } else { 1.0 },
        blocks: a.blocks + b.blocks,
    }
}

/// Upper 2.5 % point of Student's distribution.
pub(crate) fn student_quantile(degrees_of_freedom: f64) -> f64 {
    student(degrees_of_freedom).inverse_cdf(0.975)
}

fn student(degrees_of_freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees_of_freedom).expect("degrees of freedom are at least one")
}

/// Nobody measures longer than this: more than two days of blocks of four half-second slices.
const MOST_BLOCKS: u32 = 100_000;

/// The first number of blocks, from `least` on and within 2 %, at which `is_enough` holds.
pub(crate) fn first_block_count(least: u32, is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    std::iter::successors(Some(least), |blocks| Some(blocks + (blocks / 50).max(1)))
        .take_while(|blocks| *blocks <= MOST_BLOCKS)
        .find(|blocks| is_enough(*blocks))
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
        assert_eq!(spread.degrees_of_freedom, 5.0);
        assert!((spread.standard_error - (1.2_f64 / 6.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_wandering_series_counts_for_fewer_blocks() {
        let series: Vec<f64> = (0..20).map(|i| if i < 10 { 0.0 } else { 1.0 }).collect();
        let dependence = Dependence::of(&series);
        assert!(dependence.variance_inflation > 10.0);
    }

    #[test]
    fn what_wanders_for_longer_than_neighbours_tell_is_told_by_ten_batches() {
        // A step of 0.02 halfway through noise of ± 0.02 that alternates: neighbours seem to have nothing in common.
        let series: Vec<f64> = (0..40)
            .map(|block| 0.02 * f64::from(1 - 2 * (block % 2)) + 0.01 * f64::from(1 - 2 * (block / 20)))
            .collect();
        assert_eq!(Dependence::of(&series).variance_inflation, 1.0);
        // Ten means of ± 0.01: s² = 10/9 · 0.01², over ten.
        let spread = Spread::of(&series).unwrap();
        assert!((spread.standard_error - 0.01 / 3.0).abs() < 1e-12, "{spread:?}");
        assert_eq!(spread.degrees_of_freedom, 9.0);
        assert_eq!(spread.projected_to(80).degrees_of_freedom, 9.0);
    }

    #[test]
    fn a_constant_series_is_certain() {
        let spread = Spread::of(&[0.5; 5]).unwrap();
        assert_eq!((spread.half_width(), spread.p_value()), (0.0, 0.0));
        assert_eq!(Spread::of(&[0.0; 5]).unwrap().p_value(), 1.0);
    }

    #[test]
    fn finds_the_first_within_two_percent() {
        assert_eq!(first_block_count(10, |blocks| blocks >= 10), Some(10));
        assert_eq!(first_block_count(10, |blocks| blocks >= 37), Some(37));
        let found = first_block_count(10, |blocks| blocks >= 5_000).unwrap();
        assert!((5_000..5_100).contains(&found));
        assert_eq!(first_block_count(10, |_| false), None);
    }
}
