//! Blocks in which one arm's slice was slower than those of the others by far.
//!
//! A machine disturbs slices of all arms alike; then what is far away says nothing about a feature. A feature that makes a server
//! stall now and then does so in its own arm alone; then it is a part of what it costs, and must not be taken for noise.

use ciphertax_base::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::location::Located;
use crate::verdict::SIGNIFICANCE;

/// A slice is disturbed if it is so many standard deviations slower than each other slice of its block: of Gaussian noise one in
/// some hundreds. With 3 stalls of a tenth are overlooked twice as often, with 2 those of a quarter.
const APART: f64 = 2.5;

/// What makes the median absolute deviation of Gaussian noise its standard deviation: 1 / Φ⁻¹(3/4).
const GAUSSIAN: f64 = 1.482_602_218_505_602;

/// In how many blocks the slice of one arm was slower by far than both others, or took more by far, by arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedBlocks {
    /// That of the baseline.
    pub baseline: u32,
    /// That of the baseline again.
    pub baseline_again: u32,
    /// That of the variant.
    pub variant: u32,
}

impl DisturbedBlocks {
    /// From the series of differences of the three arms, which have the same length, and their locations: baseline again less
    /// baseline, variant less baseline, variant less baseline again. `direction` is which way a metric moves when something costs.
    pub(crate) fn of(differences: &[Vec<f64>; 3], located: &[Located; 3], direction: Direction) -> Self {
        let squares = [0, 1, 2].map(|of| deviation(&differences[of], &located[of]).powi(2));
        let limit = APART * (squares.iter().sum::<f64>() / 3.0).sqrt();
        let more = |of: usize, block: usize| match direction {
            Direction::HigherCosts => differences[of][block] - located[of].value,
            Direction::LowerCosts => located[of].value - differences[of][block],
        };
        let is_slow = |one: f64, other: f64| one > limit && other > limit;
        let mut disturbed = Self::default();
        for block in 0..differences[0].len() {
            let [again, variant, variant_again] = [0, 1, 2].map(|of| more(of, block));
            if is_slow(variant, variant_again) {
                disturbed.variant += 1;
            } else if is_slow(-again, -variant) {
                disturbed.baseline += 1;
            } else if is_slow(again, -variant_again) {
                disturbed.baseline_again += 1;
            }
        }
        disturbed
    }

    /// True if the variant is disturbed more often than both baselines, or less often, beyond chance.
    ///
    /// Where noise is the same in all arms, each slice of a block is as likely as any other to be the slow one, because the order
    /// of the arms is random: of all disturbed blocks the variant's are binomial with 1/3, whatever the noise does from block to
    /// block. Each side is tested at 5 %.
    pub fn differ(&self) -> bool {
        let all = u64::from(self.baseline + self.baseline_again + self.variant);
        let Ok(by_chance) = Binomial::new(1.0 / 3.0, all) else {
            return false;
        };
        let variant = u64::from(self.variant);
        let no_more = by_chance.cdf(variant);
        let no_fewer = variant.checked_sub(1).map_or(1.0, |fewer| by_chance.sf(fewer));
        no_more.min(no_fewer) <= SIGNIFICANCE
    }
}

/// The standard deviation of a series as its middle half tells it: the median of the distances from its location, times 1.4826.
/// Where more than half the blocks are alike, it is theirs, so that all others are far away.
fn deviation(series: &[f64], located: &Located) -> f64 {
    let mut distances: Vec<f64> = series.iter().map(|x| (x - located.value).abs()).collect();
    let half = distances.len() / 2;
    GAUSSIAN * *distances.select_nth_unstable_by(half, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::both_baselines::compare;

    fn differ(baseline: u32, baseline_again: u32, variant: u32) -> bool {
        DisturbedBlocks {
            baseline,
            baseline_again,
            variant,
        }
        .differ()
    }

    #[test]
    fn what_is_beyond_chance_is_told_by_the_binomial_distribution() {
        // (1/3)² is 11 %, (1/3)³ is 3.7 %; (2/3)⁷ is 5.9 %, (2/3)⁸ is 3.9 %.
        assert!(!differ(0, 0, 0));
        assert!(!differ(0, 0, 2));
        assert!(differ(0, 0, 3));
        assert!(!differ(4, 3, 0));
        assert!(differ(4, 4, 0));
        assert!(!differ(10, 10, 10));
        // At least 5 of 7 is 4.5 %, at least 4 of 6 is 10 %.
        assert!(differ(1, 1, 5));
        assert!(!differ(1, 1, 4));
    }

    #[test]
    fn the_arm_that_is_slower_than_both_others_is_the_disturbed_one() {
        let steady = |block: usize| if block.is_multiple_of(2) { 0.01 } else { -0.01 };
        let blocks: Vec<[f64; 3]> = (0..40)
            .map(|block| {
                let mut logs = [0.0, steady(block), 0.5 - steady(block)];
                match block {
                    5 => logs[0] += 0.4,
                    7 | 9 => logs[1] += 0.4,
                    11..=13 => logs[2] += 0.4,
                    // Faster than the others, be it because both are disturbed.
                    17 => logs[2] -= 0.4,
                    20 => {
                        logs[0] += 0.4;
                        logs[1] += 0.4;
                    }
                    _ => {}
                }
                logs
            })
            .collect();
        let expected = DisturbedBlocks {
            baseline: 1,
            baseline_again: 2,
            variant: 3,
        };
        let disturbed = |blocks: &[[f64; 3]], direction| compare(blocks, direction).unwrap().disturbed;
        assert_eq!(disturbed(&blocks, Direction::HigherCosts), Some(expected));
        let inverse: Vec<[f64; 3]> = blocks.iter().map(|logs| logs.map(|log| -log)).collect();
        assert_eq!(disturbed(&inverse, Direction::LowerCosts), Some(expected));
    }
}
