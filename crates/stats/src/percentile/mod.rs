//! Percentiles of latency: log-ratio of two arms with a bootstrap interval over blocks.

use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::error::StatsError;
use crate::estimate::Estimate;
use crate::histogram::empty;
use crate::latency_counts::{Bucket, LatencyCounts};
use crate::spread::Spread;

/// Bootstrap resamples: the standard error from so many is itself off by 1/√(2·1000) = 2 %.
const RESAMPLES: usize = 1_000;

/// Counts that a table may hold, so that the tables of both arms for a few quantiles take some tens of megabytes however many
/// blocks there are.
const MOST_COUNTS: usize = 4 << 20;
/// Rows that a table may have all the same.
const FEWEST_ROWS: usize = 64;

/// What a first look at the blocks of one arm tells: the latencies of all of them together, and between which values the
/// blocks' own quantiles lie. That is all that must be known to choose what of each block to keep in a table, so the
/// histograms themselves need never be in memory together.
#[derive(Debug, Clone)]
pub struct LatencySurvey {
    merged: Histogram<u64>,
    blocks: usize,
    windows: Vec<Window>,
}

/// The lowest and the highest bucket, by its lowest value, in which a quantile of a single block lies. That of any mixture of
/// the blocks lies between them: below, every block has less than that share of its values, and above, at least that share.
#[derive(Debug, Clone)]
struct Window {
    quantile: f64,
    lowest: u64,
    highest: u64,
}

impl LatencySurvey {
    /// Of no blocks yet; `quantiles` are those of which tables will be wanted.
    pub fn new(quantiles: &[f64]) -> Self {
        let window = |quantile: &f64| Window {
            quantile: *quantile,
            lowest: u64::MAX,
            highest: 0,
        };
        Self {
            merged: empty(),
            blocks: 0,
            windows: quantiles.iter().map(window).collect(),
        }
    }

    /// Looks at one more block.
    ///
    /// # Errors
    /// If it is empty.
    pub fn add(&mut self, block: &LatencyCounts) -> Result<(), StatsError> {
        if block.is_empty() {
            return Err(StatsError::EmptyHistogram { block: self.blocks });
        }
        self.blocks += 1;
        block.add_to(&mut self.merged);
        for window in &mut self.windows {
            let (_, bucket) = block.quantile(window.quantile);
            window.lowest = window.lowest.min(bucket);
            window.highest = window.highest.max(bucket);
        }
        Ok(())
    }

    /// The value below which the fraction `quantile` of all values lies, all blocks merged; interpolated within a bucket, so
    /// that it does not jump by the histogram's resolution. `None` without a block.
    pub fn value_at_quantile(&self, quantile: f64) -> Option<f64> {
        (self.blocks > 0).then(|| LatencyCounts::from(&self.merged).quantile(quantile).0)
    }

    /// A table for one of the quantiles, to be filled with so many of the blocks; `None` for another quantile, or without a
    /// block.
    pub fn table(&self, quantile: f64, blocks: usize) -> Option<LatencyBlocks> {
        let mut windows = self.windows.iter();
        let window = windows.find(|window| window.quantile == quantile && self.blocks > 0)?;
        let merged = LatencyCounts::from(&self.merged);
        let buckets = merged.buckets();
        let at = |lowest: u64| {
            let above = buckets.partition_point(|bucket| bucket.lowest <= lowest);
            above.saturating_sub(1)
        };
        let (first, last) = (at(window.lowest), at(window.highest));
        let middle = at(merged.quantile(quantile).1).clamp(first, last);
        let most = (MOST_COUNTS / blocks.max(1)).max(FEWEST_ROWS);
        let mut rows = Vec::new();
        let mut begin = first;
        for end in ends(first, middle, last, most) {
            rows.push(Row {
                low: buckets[begin].bounds().0,
                high: buckets[end].bounds().1,
                last: buckets[end].lowest,
            });
            begin = end + 1;
        }
        Some(LatencyBlocks {
            quantile,
            capacity: blocks,
            cumulative: vec![0; (rows.len() + 1) * blocks],
            below: buckets[first].lowest,
            rows,
            totals: Vec::with_capacity(blocks),
            singles: Vec::with_capacity(blocks),
        })
    }
}

/// Which buckets from `first` to `last` end a row of a table: every one if that are not too many; else every one near the
/// middle, where the quantile lies, and ever fewer away from it.
fn ends(first: usize, middle: usize, last: usize, most: usize) -> Vec<usize> {
    let mut near = last - first + 1;
    loop {
        let (down, up) = (outwards(middle - first, near), outwards(last - middle, near));
        if down.len() + up.len() < most || near == 1 {
            let below = down.into_iter().rev().map(|distance| middle - distance);
            let above = up.into_iter().map(|distance| middle + distance);
            return below.chain([middle]).chain(above).collect();
        }
        near = (near * 3 / 4).max(1);
    }
}

/// Distances up to `far`, ascending: all up to `near`, then growing by a part of the distance.
fn outwards(far: usize, near: usize) -> Vec<usize> {
    let mut distances = Vec::new();
    let mut distance = 0;
    while distance < far {
        distance = (distance + 1 + distance / near).min(far);
        distances.push(distance);
    }
    distances
}

/// The latencies of one arm in one cell, block by block, made ready for one quantile of any weighting of the blocks.
#[derive(Debug, Clone)]
pub struct LatencyBlocks {
    quantile: f64,
    /// Blocks there is room for.
    capacity: usize,
    /// The rows ascending; no weighting's quantile lies outside of them.
    rows: Vec<Row>,
    /// The lowest bucket of the first row.
    below: u64,
    /// Values below the rows, then up to and including each row, in each block.
    cumulative: Vec<u32>,
    /// All values of each block.
    totals: Vec<u32>,
    /// The quantile of each block by itself.
    singles: Vec<f64>,
}

/// A bucket, or several neighbours.
#[derive(Debug, Clone)]
struct Row {
    low: f64,
    /// Excluded.
    high: f64,
    /// Lowest value of its last bucket.
    last: u64,
}

impl LatencyBlocks {
    /// Adds the next block, in the order they were measured: one of those that the survey saw.
    ///
    /// # Errors
    /// If it is empty, or there is no room for it.
    pub fn add(&mut self, counts: &LatencyCounts) -> Result<(), StatsError> {
        let block = self.totals.len();
        if counts.is_empty() {
            return Err(StatsError::EmptyHistogram { block });
        }
        if block == self.capacity {
            return Err(StatsError::Unpaired {
                baseline: self.capacity,
                variant: block + 1,
            });
        }
        let sum = |buckets: &[Bucket]| {
            let counts = buckets.iter().map(|bucket| bucket.count);
            counts.fold(0, u64::saturating_add)
        };
        let buckets = counts.buckets();
        let mut next = buckets.partition_point(|bucket| bucket.lowest < self.below);
        let mut so_far = sum(&buckets[..next]);
        self.cumulative[block] = narrow(so_far);
        for (index, row) in self.rows.iter().enumerate() {
            let of_row = buckets[next..]
                .iter()
                .take_while(|bucket| bucket.lowest <= row.last);
            for bucket in of_row {
                so_far = so_far.saturating_add(bucket.count);
                next += 1;
            }
            self.cumulative[(index + 1) * self.capacity + block] = narrow(so_far);
        }
        self.totals.push(narrow(counts.total()));
        self.singles.push(counts.quantile(self.quantile).0);
        Ok(())
    }

    /// The quantile of all blocks together, block `i` counted `weights[i]` times.
    fn weighted_quantile(&self, weights: &[u64]) -> f64 {
        let sum = |counts: &[u32]| -> f64 {
            let weighted = counts.iter().zip(weights);
            weighted
                .map(|(count, weight)| u64::from(*count) * weight)
                .sum::<u64>() as f64
        };
        let up_to = |index: usize| sum(&self.cumulative[index * self.capacity..(index + 1) * self.capacity]);
        let wanted = self.quantile * sum(&self.totals);
        let index = first_index(self.rows.len() - 1, |index| up_to(index + 1) >= wanted);
        let Row { low, high, .. } = self.rows[index];
        let (before, until) = (up_to(index), up_to(index + 1));
        if until > before {
            low + (high - low) * (wanted - before) / (until - before)
        } else {
            low
        }
    }
}

/// Nobody counts four thousand millions of operations in a slice.
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
    seed: u64,
) -> Result<Estimate, StatsError> {
    let n = baseline.totals.len();
    if n != variant.totals.len() {
        return Err(StatsError::Unpaired {
            baseline: n,
            variant: variant.totals.len(),
        });
    }
    if n < 2 {
        return Err(StatsError::TooFewBlocks { blocks: n });
    }
    let log_ratio =
        |weights: &[u64]| (variant.weighted_quantile(weights) / baseline.weighted_quantile(weights)).ln();
    let variance = bootstrap_variance(n, seed, log_ratio) * n as f64 / (n as f64 - 1.0);
    let each_block: Vec<f64> = std::iter::zip(&variant.singles, &baseline.singles)
        .map(|(variant, baseline)| (variant / baseline).ln())
        .collect();
    let spread = Spread::of_dependent(log_ratio(&vec![1; n]), variance, &each_block, 1.0);
    Ok(Estimate::from(spread))
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
mod tests;
