//! Differences of two arms in the unit of what is compared, paired by block.

use ciphertax_stats::{FEWEST_BLOCKS, Interval, MeanEstimate};

use crate::error::ExplainError;

/// Two-sided 95 % of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.96;

/// One block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) baseline: f64,
    pub(super) variant: f64,
    /// How much the block tells; above zero.
    pub(super) weight: f64,
    /// What counting alone adds to the variance of their difference; 0 for what is not counted.
    pub(super) variance: f64,
}

/// All blocks together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Paired {
    pub(super) baseline: f64,
    pub(super) variant: f64,
    /// Variant less baseline; `None` with too few blocks.
    pub(super) difference: Option<Interval>,
}

impl Paired {
    /// The weighted means, whose difference is the weighted mean of the differences. Its variance is that of the weighted
    /// residuals (a sandwich), by Student's t and widened for serial correlation as every mean of blocks; but the interval is never
    /// narrower than counting alone allows, since a few blocks may agree by chance.
    pub(super) fn of(pairs: &[Pair]) -> Result<Option<Self>, ExplainError> {
        let total: f64 = pairs.iter().map(|pair| pair.weight).sum();
        if pairs.is_empty() || total <= 0.0 {
            return Ok(None);
        }
        let mean =
            |of: &dyn Fn(&Pair) -> f64| pairs.iter().map(|pair| pair.weight * of(pair)).sum::<f64>() / total;
        let (baseline, variant) = (mean(&|pair| pair.baseline), mean(&|pair| pair.variant));
        let value = variant - baseline;
        let mut difference = None;
        if pairs.len() >= FEWEST_BLOCKS as usize {
            let mean_weight = total / pairs.len() as f64;
            let weighted =
                |pair: &Pair| value + pair.weight / mean_weight * (pair.variant - pair.baseline - value);
            let series: Vec<f64> = pairs.iter().map(weighted).collect();
            let estimate = MeanEstimate::of(&series)?;
            let variances = pairs.iter().map(|pair| pair.weight.powi(2) * pair.variance);
            let by_counting = variances.sum::<f64>().sqrt() / total;
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
pub(super) fn no_narrower(value: f64, of_blocks: &MeanEstimate, by_counting: f64) -> Interval {
    let half_width = (of_blocks.high - of_blocks.mean).max(NORMAL_QUANTILE * by_counting);
    Interval {
        value,
        low: value - half_width,
        high: value + half_width,
    }
}

/// True if zero lies outside.
pub(super) fn excludes_zero(interval: &Interval) -> bool {
    interval.low > 0.0 || interval.high < 0.0
}

/// How far the baseline's difference from itself goes: what the smallest difference has to exceed that counts.
pub(super) fn floor(again: &Interval) -> f64 {
    again.value.abs().max((again.high - again.low) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(differences: &[f64], weights: &[f64]) -> Vec<Pair> {
        let each = differences.iter().zip(weights);
        each.map(|(difference, weight)| Pair {
            baseline: 10.0,
            variant: 10.0 + difference,
            weight: *weight,
            variance: 0.0,
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
        assert!(
            (difference.value - 1.0).abs() < 0.05 && difference.high < 1.3,
            "{difference:?}"
        );
    }

    #[test]
    fn it_is_no_more_certain_than_counting_allows_and_four_blocks_have_no_interval() {
        let mut alike = pairs(&[1.0; 9], &[1.0; 9]);
        alike.iter_mut().for_each(|pair| pair.variance = 9.0);
        let difference = Paired::of(&alike).unwrap().unwrap().difference.unwrap();
        assert!((difference.high - 1.0 - 1.96).abs() < 1e-9);
        assert_eq!(Paired::of(&alike[..4]).unwrap().unwrap().difference, None);
        assert_eq!(Paired::of(&[]).unwrap(), None);
    }
}
