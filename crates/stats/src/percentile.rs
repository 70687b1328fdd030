//! Percentiles of latency: log-ratio of two arms with a bootstrap interval over blocks.

use std::collections::BTreeSet;

use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::error::StatsError;
use crate::estimate::Estimate;
use crate::spread::{Dependence, Spread};

/// Bootstrap resamples: the standard error from so many is itself off by 1/√(2·1000) = 2 %.
const RESAMPLES: usize = 1_000;

/// The latencies of one arm in one cell, block by block, made ready for percentiles of any weighting of the
/// blocks.
#[derive(Debug, Clone)]
pub struct LatencyBlocks {
    blocks: usize,
    /// Lower and upper bound of every bucket that holds a value in any block, ascending.
    buckets: Vec<(f64, f64)>,
    /// Values up to and including a bucket, in each block: row `i` holds bucket `i` of all blocks.
    cumulative: Vec<u64>,
}

impl LatencyBlocks {
    /// Takes one histogram a block, in the order they were measured. All must have the same lowest value and
    /// precision.
    ///
    /// # Errors
    /// If a histogram is empty.
    pub fn new(blocks: &[Histogram<u64>]) -> Result<Self, StatsError> {
        if let Some(block) = blocks.iter().position(Histogram::is_empty) {
            return Err(StatsError::EmptyHistogram { block });
        }
        let occupied: BTreeSet<(u64, u64)> = blocks
            .iter()
            .flat_map(occupied_buckets)
            .map(|(bounds, _)| bounds)
            .collect();
        let buckets: Vec<(u64, u64)> = occupied.into_iter().collect();
        let mut cumulative = vec![0; buckets.len() * blocks.len()];
        for (block, histogram) in blocks.iter().enumerate() {
            let mut counts = occupied_buckets(histogram).peekable();
            let mut so_far = 0;
            for (row, bounds) in cumulative.chunks_exact_mut(blocks.len()).zip(&buckets) {
                so_far += counts
                    .next_if(|(next, _)| next == bounds)
                    .map_or(0, |(_, count)| count);
                row[block] = so_far;
            }
        }
        Ok(Self {
            blocks: blocks.len(),
            buckets: buckets
                .into_iter()
                .map(|(low, high)| (low as f64, high as f64))
                .collect(),
            cumulative,
        })
    }

    /// The value below which the fraction `quantile` of all values lies, all blocks merged; interpolated
    /// within a bucket, so that it does not jump by the histogram's resolution.
    pub fn value_at_quantile(&self, quantile: f64) -> f64 {
        self.weighted_quantile(quantile, &vec![1; self.blocks])
    }

    /// The same with block `i` counted `weights[i]` times.
    fn weighted_quantile(&self, quantile: f64, weights: &[u64]) -> f64 {
        let up_to = |bucket: usize| -> f64 {
            let row = &self.cumulative[bucket * self.blocks..(bucket + 1) * self.blocks];
            row.iter()
                .zip(weights)
                .map(|(count, weight)| count * weight)
                .sum::<u64>() as f64
        };
        let wanted = quantile * up_to(self.buckets.len() - 1);
        let bucket = first_index(self.buckets.len() - 1, |bucket| up_to(bucket) >= wanted);
        let before = if bucket == 0 { 0.0 } else { up_to(bucket - 1) };
        let (low, high) = self.buckets[bucket];
        low + (high - low) * (wanted - before) / (up_to(bucket) - before)
    }

    fn single_block_quantiles(&self, quantile: f64) -> Vec<f64> {
        let mut weights = vec![0; self.blocks];
        (0..self.blocks)
            .map(|block| {
                weights.fill(0);
                weights[block] = 1;
                self.weighted_quantile(quantile, &weights)
            })
            .collect()
    }
}

/// The change of a percentile from baseline to variant, with its 95 % interval.
///
/// The estimate is the log-ratio of the percentiles of the merged histograms. Its standard error comes from
/// resampling the blocks, the same for both arms, so that what a block's arms share cancels (Efron 1979).
/// With few blocks the bootstrap is too narrow by √((n−1)/n), and normal quantiles are too narrow for so few;
/// both are corrected (Hesterberg 2015): the interval is Student's with n−1 degrees of freedom. Serial
/// correlation is measured on the blocks' own percentiles and widens it as for means.
///
/// # Errors
/// If the arms have different numbers of blocks, or fewer than two.
pub fn percentile_change(
    baseline: &LatencyBlocks,
    variant: &LatencyBlocks,
    quantile: f64,
    seed: u64,
) -> Result<Estimate, StatsError> {
    let n = baseline.blocks;
    if n != variant.blocks {
        return Err(StatsError::Unpaired {
            baseline: n,
            variant: variant.blocks,
        });
    }
    if n < 2 {
        return Err(StatsError::TooFewBlocks { blocks: n });
    }
    let log_ratio = |weights: &[u64]| {
        (variant.weighted_quantile(quantile, weights) / baseline.weighted_quantile(quantile, weights)).ln()
    };
    let variance = bootstrap_variance(n, seed, log_ratio) * n as f64 / (n as f64 - 1.0);
    let each_block: Vec<f64> = std::iter::zip(
        variant.single_block_quantiles(quantile),
        baseline.single_block_quantiles(quantile),
    )
    .map(|(variant, baseline)| (variant / baseline).ln())
    .collect();
    let dependence = Dependence::of(&each_block);
    Ok(Estimate::from(Spread {
        mean: log_ratio(&vec![1; n]),
        standard_error: (variance * dependence.variance_inflation).sqrt(),
        degrees_of_freedom: dependence.degrees_of_freedom,
        blocks: n as f64,
        effective_blocks: dependence.effective_blocks,
    }))
}

/// Variance of a statistic of the blocks over resamples with replacement.
fn bootstrap_variance(blocks: usize, seed: u64, statistic: impl Fn(&[u64]) -> f64) -> f64 {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut weights = vec![0; blocks];
    let resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            weights.fill(0);
            for _ in 0..blocks {
                weights[random.random_range(0..blocks)] += 1;
            }
            statistic(&weights)
        })
        .collect();
    let mean = resampled.iter().sum::<f64>() / RESAMPLES as f64;
    resampled.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (RESAMPLES - 1) as f64
}

/// Buckets of a histogram that hold values: bounds (the upper one excluded) and count.
fn occupied_buckets(histogram: &Histogram<u64>) -> impl Iterator<Item = ((u64, u64), u64)> + '_ {
    histogram.iter_recorded().map(|step| {
        let value = step.value_iterated_to();
        let bounds = (
            histogram.lowest_equivalent(value),
            histogram.next_non_equivalent(value),
        );
        (bounds, step.count_at_value())
    })
}

/// The first index at which a monotone condition holds; `last` if it holds at none before.
fn first_index(last: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        for value in values {
            histogram.record(value).unwrap();
        }
        histogram
    }

    /// Blocks of values that spread over two decades and differ from block to block.
    fn uneven_blocks(factor: u64) -> Vec<Histogram<u64>> {
        (0..12_u64)
            .map(|block| histogram((1..400).map(|i| factor * (10_000 + i * i * (7 + block * block % 5)))))
            .collect()
    }

    #[test]
    fn quantiles_are_those_of_the_merged_histogram_within_its_resolution() {
        let blocks = uneven_blocks(1);
        let mut merged = Histogram::<u64>::new(3).unwrap();
        for block in &blocks {
            merged.add(block).unwrap();
        }
        let table = LatencyBlocks::new(&blocks).unwrap();
        for quantile in [0.001, 0.25, 0.5, 0.95, 0.99, 1.0] {
            let expected = merged.value_at_quantile(quantile);
            let got = table.value_at_quantile(quantile);
            let bucket =
                merged.lowest_equivalent(expected) as f64..=merged.next_non_equivalent(expected) as f64;
            assert!(bucket.contains(&got), "{quantile}: {got} not in {bucket:?}");
        }
    }

    #[test]
    fn an_arm_against_itself_shows_no_change_whatever_the_blocks() {
        let arm = LatencyBlocks::new(&uneven_blocks(1)).unwrap();
        let estimate = percentile_change(&arm, &arm, 0.95, 1).unwrap();
        assert_eq!((estimate.low, estimate.change, estimate.high), (0.0, 0.0, 0.0));
    }

    #[test]
    fn a_factor_on_every_latency_is_found() {
        let baseline = LatencyBlocks::new(&uneven_blocks(1)).unwrap();
        let variant = LatencyBlocks::new(&uneven_blocks(3)).unwrap();
        for quantile in [0.5, 0.95, 0.99] {
            let estimate = percentile_change(&baseline, &variant, quantile, 1).unwrap();
            assert!((estimate.change - 2.0).abs() < 0.005, "{quantile}: {estimate:?}");
            assert!(estimate.half_width() < 0.01);
        }
    }

    #[test]
    fn the_seed_decides_the_interval() {
        let baseline = LatencyBlocks::new(&uneven_blocks(1)).unwrap();
        let mut blocks = uneven_blocks(1);
        blocks.rotate_left(5);
        let variant = LatencyBlocks::new(&blocks).unwrap();
        let with = |seed| percentile_change(&baseline, &variant, 0.95, seed).unwrap();
        assert_eq!(with(1), with(1));
        assert_ne!(with(1).low, with(2).low);
    }

    #[test]
    fn what_has_no_percentile_is_an_error() {
        let empty = LatencyBlocks::new(&[histogram([1]), histogram([])]);
        assert_eq!(empty.unwrap_err(), StatsError::EmptyHistogram { block: 1 });
        let one = LatencyBlocks::new(&[histogram([1])]).unwrap();
        let two = LatencyBlocks::new(&[histogram([1]), histogram([2])]).unwrap();
        let unpaired = percentile_change(&one, &two, 0.5, 1).unwrap_err();
        assert_eq!(
            unpaired,
            StatsError::Unpaired {
                baseline: 1,
                variant: 2
            }
        );
        assert_eq!(
            percentile_change(&one, &one, 0.5, 1).unwrap_err(),
            StatsError::TooFewBlocks { blocks: 1 }
        );
    }
}
