//! Differences of two arms in the unit of what is compared, paired by block.

use ciphertax_base::Interval;
use ciphertax_stats::{FEWEST_BLOCKS, MeanEstimate};

use crate::EstimateError;

/// Two-sided 95 % of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.96;

/// One block: of the baseline, and of the variant.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// In the unit of what is compared.
    pub values: [f64; 2],
    /// How much each tells; above zero.
    pub weights: [f64; 2],
    /// What counting alone adds to the variance of each; 0 for what is not counted.
    pub variances: [f64; 2],
}

/// All blocks together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// The baseline's weighted mean.
    pub baseline: f64,
    /// The variant's.
    pub variant: f64,
    /// Variant less baseline; `None` with too few blocks.
    pub difference: Option<Interval>,
}

impl Paired {
    /// The weighted means, and their difference. With operations as weights a mean is of all operations: the ratio of two sums. The
    /// difference's variance is that of the weighted residuals (a sandwich), by Student's t and widened for serial correlation as
    /// every mean of blocks; but the interval is never narrower than counting alone allows, since a few blocks may agree by chance.
    pub fn of(pairs: &[Pair]) -> Result<Option<Self>, EstimateError> {
        let totals = [0, 1].map(|arm| pairs.iter().map(|pair| pair.weights[arm]).sum::<f64>());
        if pairs.is_empty() || totals.iter().any(|total| *total <= 0.0) {
            return Ok(None);
        }
        let part = |pair: &Pair, arm: usize| pair.weights[arm] / totals[arm];
        let means = [0, 1].map(|arm| {
            pairs
                .iter()
                .map(|pair| part(pair, arm) * pair.values[arm])
                .sum::<f64>()
        });
        let [baseline, variant] = means;
        let value = variant - baseline;
        let mut difference = None;
        if pairs.len() >= FEWEST_BLOCKS as usize {
            let blocks = pairs.len() as f64;
            let residual = |pair: &Pair, arm: usize| part(pair, arm) * (pair.values[arm] - means[arm]);
            let pull = |pair: &Pair| value + blocks * (residual(pair, 1) - residual(pair, 0));
            let estimate = MeanEstimate::of(&pairs.iter().map(pull).collect::<Vec<f64>>())?;
            let variance = |pair: &Pair, arm: usize| part(pair, arm).powi(2) * pair.variances[arm];
            let variances = pairs.iter().map(|pair| variance(pair, 0) + variance(pair, 1));
            let by_counting = variances.sum::<f64>().sqrt();
            difference = Some(no_narrower(value, &estimate, by_counting));
        }
        Ok(Some(Self {
            baseline,
            variant,
            difference,
        }))
    }
}

/// The interval of a mean of blocks around a value, no narrower than the standard error of counting allows.
fn no_narrower(value: f64, of_blocks: &MeanEstimate, by_counting: f64) -> Interval {
    let half_width = (of_blocks.high - of_blocks.mean).max(NORMAL_QUANTILE * by_counting);
    Interval::around(value, half_width)
}

/// True if zero lies outside.
pub fn excludes_zero(interval: &Interval) -> bool {
    interval.low > 0.0 || interval.high < 0.0
}

/// How far the baseline's difference from itself goes: what the smallest difference has to exceed that counts.
pub fn floor(again: &Interval) -> f64 {
    again.value.abs().max((again.high - again.low) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(differences: &[f64], weights: &[f64]) -> Vec<Pair> {
        let each = differences.iter().zip(weights);
        each.map(|(difference, weight)| Pair {
            values: [10.0, 10.0 + difference],
            weights: [*weight; 2],
            variances: [0.0; 2],
        })
        .collect()
    }

    #[test]
    fn with_equal_weights_it_is_the_mean_of_the_differences() {
        let differences = [1.0, 2.0, 1.5, 1.2, 1.8, 1.6];
        let found = Paired::of(&pairs(&differences, &[3.0; 6])).unwrap().unwrap();
        let expected = MeanEstimate::of(&differences).unwrap();
        let difference = found.difference.unwrap();
        assert!((difference.value - expected.mean).abs() < 1e-12);
        assert!((difference.low - expected.low).abs() < 1e-9);
        assert!((found.variant - found.baseline - expected.mean).abs() < 1e-12);
    }

    #[test]
    fn a_block_that_tells_little_counts_for_little() {
        let found = Paired::of(&pairs(
            &[1.0, 1.1, 0.9, 1.0, 50.0],
            &[100.0, 100.0, 100.0, 100.0, 0.1],
        ));
        let difference = found.unwrap().unwrap().difference.unwrap();
        let is_near = (difference.value - 1.0).abs() < 0.05 && difference.high < 1.3;
        assert!(is_near, "{difference:?}");
    }

    #[test]
    fn with_operations_as_weights_it_is_the_difference_of_two_ratios_of_sums() {
        let of_block = |operations: [f64; 2], us: [f64; 2]| Pair {
            values: us,
            weights: operations,
            variances: [0.0; 2],
        };
        let mut blocks = vec![of_block([1_000.0, 500.0], [480.0, 960.0]); 5];
        blocks.push(of_block([11.0, 400.0], [9_400.0, 1_000.0]));
        let found = Paired::of(&blocks).unwrap().unwrap();
        let baseline = (5.0 * 1_000.0 * 480.0 + 11.0 * 9_400.0) / 5_011.0;
        let variant = (5.0 * 500.0 * 960.0 + 400.0 * 1_000.0) / 2_900.0;
        assert!((found.baseline - baseline).abs() < 1e-9 && (found.variant - variant).abs() < 1e-9);
        let difference = found.difference.unwrap();
        assert!((difference.value - (variant - baseline)).abs() < 1e-9);
        assert!(difference.low > 300.0, "{difference:?}");
    }

    #[test]
    fn it_is_no_more_certain_than_counting_allows_and_four_blocks_have_no_interval() {
        let mut alike = pairs(&[1.0; 9], &[1.0; 9]);
        alike.iter_mut().for_each(|pair| pair.variances = [4.0, 5.0]);
        let difference = Paired::of(&alike).unwrap().unwrap().difference.unwrap();
        assert!((difference.high - 1.0 - 1.96).abs() < 1e-9);
        assert_eq!(Paired::of(&alike[..4]).unwrap().unwrap().difference, None);
        assert_eq!(Paired::of(&[]).unwrap(), None);
    }
}
