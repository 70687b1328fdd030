//! When to stop measuring a cell, and how many blocks are still missing.
//!
//! The rule of Chow and Robbins (1965): measure until the interval is as narrow as wanted. It looks at half-widths
//! and never at effects. For Gaussian noise the spread of the blocks so far says nothing about their mean, so
//! stopping on it does not favour one sign or a large effect; what is left is that the spread at the stop is a little
//! too small. A minimum number of blocks and the interval's widening for serial correlation make up for it, as the
//! simulations show. They watch the repeated baseline along with a variant, as every caller should: the noise floor
//! is made of it.

use crate::both_baselines::OF_REPEATED;
use crate::estimate::Estimate;
use crate::spread::{NORMAL_QUANTILE, Spread, first_block_count};

/// Blocks measured before the rule may stop. With fewer, a spread that came out small by chance stops too
/// early.
pub const MINIMUM_BLOCKS: u32 = 12;

/// A row that is watched, and how precise it must become.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// What is known of it so far; `None` while there are too few blocks to tell.
    so_far: Option<Estimate>,
    /// Wanted half-width of the 95 % interval of the log-ratio.
    wanted: f64,
}

/// Whether a cell is measured precisely enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Every row reached its target.
    Precise,
    /// Some row did not.
    Continue {
        /// Blocks still needed at the noise seen so far, for the slowest row; absent while there are too few
        /// blocks to tell, or if they would be more than anybody would measure.
        more_blocks: Option<u32>,
    },
}

/// Says whether all rows are precise enough, and if not, how many blocks are missing.
pub fn progress(targets: &[Target]) -> Progress {
    if is_precise(targets) {
        return Progress::Precise;
    }
    let missing: Option<Vec<u32>> = targets.iter().map(missing_blocks).collect();
    Progress::Continue {
        more_blocks: missing.and_then(|blocks| blocks.into_iter().max()),
    }
}

/// The stopping rule itself: true if every row has the minimum of blocks and its wanted half-width.
pub fn is_precise(targets: &[Target]) -> bool {
    targets.iter().all(|target| {
        let enough = target.so_far.filter(|estimate| estimate.blocks >= MINIMUM_BLOCKS);
        enough.is_some_and(|estimate| target.reached_by(&estimate.spread()))
    })
}

impl Target {
    /// Of a variant: `half_width` is that of the ratio, as a fraction of the ratio.
    pub fn of_variant(so_far: Option<Estimate>, half_width: f64) -> Self {
        Self {
            so_far,
            wanted: half_width.ln_1p(),
        }
    }

    /// Of the baseline again, against one baseline alone: its interval may be as much wider as that makes it, so that variants
    /// and baseline are ready at the same time where all have the same noise.
    pub fn of_baseline_again(so_far: Option<Estimate>, half_width: f64) -> Self {
        Self {
            so_far,
            wanted: half_width.ln_1p() / OF_REPEATED,
        }
    }

    /// The half-width is compared on the logarithmic scale: that of the ratio grows with the ratio, which the
    /// rule must not see.
    fn reached_by(&self, spread: &Spread) -> bool {
        NORMAL_QUANTILE * spread.standard_error <= self.wanted && spread.half_width() <= self.wanted
    }
}

fn missing_blocks(target: &Target) -> Option<u32> {
    let estimate = target
        .so_far
        .filter(|estimate| estimate.blocks >= FEWEST_FOR_A_FORECAST)?;
    let spread = estimate.spread();
    let needed = first_block_count(estimate.blocks.max(MINIMUM_BLOCKS), |blocks| {
        target.reached_by(&spread.projected_to(blocks))
    });
    needed.map(|blocks| blocks - estimate.blocks)
}

/// The spread of fewer blocks is off by more than a factor of two too often to forecast from.
const FEWEST_FOR_A_FORECAST: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// Log-ratios of spread 0.02 around `mean`, without serial correlation.
    fn noise(blocks: usize, mean: f64) -> Vec<f64> {
        (0..blocks)
            .map(|i| mean + if i % 2 == 0 { 0.02 } else { -0.02 })
            .collect()
    }

    fn target(log_ratios: &[f64], half_width: f64) -> Target {
        Target::of_variant(Estimate::of_log_ratios(log_ratios).ok(), half_width)
    }

    fn watch(log_ratios: &[f64], half_width: f64) -> Progress {
        progress(&[target(log_ratios, half_width)])
    }

    #[test]
    fn stops_when_the_half_width_is_reached() {
        // t(39) · 0.0203 / √40 = 0.0065.
        assert_eq!(watch(&noise(40, 0.0), 0.007), Progress::Precise);
        assert_ne!(watch(&noise(40, 0.0), 0.006), Progress::Precise);
    }

    #[test]
    fn never_stops_before_the_minimum() {
        let few = vec![0.0; MINIMUM_BLOCKS as usize - 1];
        assert_eq!(watch(&few, 0.5), Progress::Continue { more_blocks: Some(1) });
    }

    #[test]
    fn does_not_see_the_effect() {
        for blocks in [8, 20, 60] {
            let found = watch(&noise(blocks, 0.0), 0.008);
            assert_eq!(found, watch(&noise(blocks, 0.7), 0.008));
        }
    }

    #[test]
    fn the_forecast_comes_true_if_the_noise_stays() {
        let Progress::Continue {
            more_blocks: Some(more),
        } = watch(&noise(20, 0.0), 0.005)
        else {
            panic!("20 blocks are too few for this target");
        };
        assert_eq!(watch(&noise(20 + more as usize, 0.0), 0.005), Progress::Precise);
        assert_ne!(watch(&noise(16 + more as usize, 0.0), 0.005), Progress::Precise);
    }

    #[test]
    fn the_slowest_row_decides() {
        let (steady, noisy) = (noise(20, 0.0), noise(20, 0.3));
        let rows = |half_width| [target(&steady, 0.1), target(&noisy, half_width)];
        assert_eq!(progress(&rows(0.1)), Progress::Precise);
        assert_eq!(progress(&rows(0.005)), watch(&noisy, 0.005));
    }

    #[test]
    fn the_baseline_again_may_be_as_much_wider_as_one_baseline_makes_it() {
        // t(39) · 0.0203 / √40 = 0.0065, of which √(3/4) is 0.0056.
        let again =
            |half_width| Target::of_baseline_again(Estimate::of_log_ratios(&noise(40, 0.0)).ok(), half_width);
        assert!(is_precise(&[again(0.0058)]));
        assert!(!is_precise(&[again(0.0054)]));
        assert!(!is_precise(&[target(&noise(40, 0.0), 0.0058)]));
    }

    #[test]
    fn a_row_without_an_estimate_is_not_precise() {
        assert!(!is_precise(&[Target::of_variant(None, 1.0)]));
        let found = progress(&[Target::of_variant(None, 1.0)]);
        assert_eq!(found, Progress::Continue { more_blocks: None });
    }

    #[test]
    fn does_not_forecast_from_too_few_blocks_nor_beyond_reason() {
        let found = watch(&noise(3, 0.0), 0.01);
        assert_eq!(found, Progress::Continue { more_blocks: None });
        let found = watch(&noise(20, 0.0), 1e-5);
        assert_eq!(found, Progress::Continue { more_blocks: None });
    }
}
