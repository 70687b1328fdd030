//! Ratios of what two arms took in all, where what a block takes is lumpy.
//!
//! What is put off in one block is paid in another: pages that are flushed later, checkpoints. The mean of the blocks'
//! log-ratios is then far below the truth, since a block that pays nothing weighs more on that scale than one that pays twice
//! as much. What was paid in all blocks is not touched by when it was paid.

use crate::error::{StatsError, check_finite};

/// What an arm took in a block, and for how many operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// Of whatever is compared; may be nothing.
    pub amount: f64,
    /// Above zero.
    pub operations: f64,
}

/// A series whose mean is the logarithm of what an arm took for an operation over all blocks together: the pseudo-values of the
/// jackknife over blocks (Tukey 1958), n·f(all) − (n−1)·f(all but one). Its difference to the baseline's is a series of
/// log-ratios; where blocks take alike, they are those of the blocks.
///
/// # Errors
/// If a number is not finite, or without one of the blocks nothing is left.
pub fn logs(series: &[Taken]) -> Result<Vec<f64>, StatsError> {
    let n = series.len() as f64;
    let amount: f64 = series.iter().map(|block| block.amount).sum();
    let operations: f64 = series.iter().map(|block| block.operations).sum();
    check_finite(&[amount, operations])?;
    let all = (amount / operations).ln();
    let pseudo_value = |(index, block): (usize, &Taken)| {
        let others = [amount - block.amount, operations - block.operations];
        // What is left after a difference is no amount.
        let is_left = others[0] > 1e-12 * amount && others[1] > 0.0;
        match is_left {
            true => Ok(n * all - (n - 1.0) * (others[0] / others[1]).ln()),
            false => Err(StatsError::NotPositive {
                block: index,
                value: others[0],
            }),
        }
    };
    series.iter().enumerate().map(pseudo_value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;

    fn taken(amounts: &[f64], operations: &[f64]) -> Vec<Taken> {
        let each = amounts.iter().zip(operations);
        each.map(|(&amount, &operations)| Taken { amount, operations })
            .collect()
    }

    fn log_ratios(baseline: &[Taken], variant: &[Taken]) -> Vec<f64> {
        let (baseline, variant) = (logs(baseline).unwrap(), logs(variant).unwrap());
        variant.iter().zip(baseline).map(|(v, b)| v - b).collect()
    }

    #[test]
    fn what_is_paid_in_other_blocks_is_the_same_in_all() {
        let steady = taken(&[10.0; 12], &[100.0; 12]);
        let lumps: Vec<f64> = (0..12)
            .map(|block| if block % 3 == 0 { 24.0 } else { 3.0 })
            .collect();
        let lumpy = taken(&lumps, &[100.0; 12]);
        let estimate = Estimate::of_log_ratios(&log_ratios(&steady, &lumpy)).unwrap();
        assert!(estimate.low < 0.0 && estimate.high > 0.0);
        assert!(estimate.change.abs() < 0.05, "{}", estimate.change);
        // By blocks it is half of what it is.
        let by_blocks = Estimate::of_pairs(&[10.0; 12], &lumps).unwrap();
        assert!(by_blocks.change < -0.35, "{}", by_blocks.change);
    }

    #[test]
    fn where_blocks_take_alike_it_is_the_log_ratio_of_the_blocks() {
        let operations = [100.0, 90.0, 110.0, 105.0, 95.0, 100.0];
        let of = |each: [f64; 6]| {
            let amounts: Vec<f64> = each.iter().zip(operations).map(|(one, n)| one * n).collect();
            (each, taken(&amounts, &operations))
        };
        let (baseline, baseline_taken) = of([20.0, 20.4, 19.8, 20.1, 19.7, 20.2]);
        let (variant, variant_taken) = of([23.0, 23.1, 22.8, 23.3, 22.9, 23.2]);
        let series = log_ratios(&baseline_taken, &variant_taken);
        let blocks = crate::paired::log_ratios(&baseline, &variant).unwrap();
        let estimate = Estimate::of_log_ratios(&series).unwrap();
        let by_blocks = Estimate::of_log_ratios(&blocks).unwrap();
        assert!((estimate.log_mean - by_blocks.log_mean).abs() < 1e-3);
        assert!((estimate.half_width() / by_blocks.half_width() - 1.0).abs() < 0.2);
    }

    #[test]
    fn an_arm_that_took_something_in_one_block_alone_has_no_series() {
        let one = taken(&[0.0, 5.0, 0.0], &[10.0; 3]);
        assert_eq!(logs(&one), Err(StatsError::NotPositive { block: 1, value: 0.0 }));
        assert!(logs(&taken(&[0.0; 3], &[10.0; 3])).is_err());
        assert!(logs(&taken(&[f64::INFINITY, 1.0], &[10.0; 2])).is_err());
    }
}
