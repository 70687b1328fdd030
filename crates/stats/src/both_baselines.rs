//! By how much a variant differs from the baseline, which each block measures twice.
//!
//! Both baselines are the same thing, so their slices together tell more: a variant against both has three quarters of the
//! variance of one against either. The two comparisons are located one by one and then averaged. Averaging the baselines first
//! would be wrong under noise that only slows down: the mean of two slices is disturbed twice as often as one, and half as much,
//! and a robust location takes that for an effect.

use ciphertax_base::Direction;

use crate::disturbed::DisturbedBlocks;
use crate::error::{StatsError, check_finite};
use crate::estimate::Estimate;
use crate::location::{Located, Location};
use crate::spread::Spread;

/// The half-width of a variant against both baselines is that of the baselines against each other times this, √(3/4), where all
/// have the same noise.
pub const OF_REPEATED: f64 = 0.866_025_403_784_438_6;

/// A variant against both baselines.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The change.
    pub estimate: Estimate,
    /// What stands for all blocks: the mean where the variant is disturbed more often or less often than chance has it, since
    /// that is what its users pay.
    pub location: Location,
    /// In how many blocks which arm was disturbed; `None` where that was not looked for.
    pub disturbed: Option<DisturbedBlocks>,
    /// A log-ratio for each block: their mean is that of the estimate, and their scatter tells its error. For formulas that the
    /// estimate is a part of.
    pub series: Vec<f64>,
}

impl Compared {
    fn of(located: Located, location: Location, disturbed: Option<DisturbedBlocks>) -> Self {
        Self {
            estimate: Estimate::from(Spread::around(&located)),
            location,
            disturbed,
            series: located.influence,
        }
    }
}

/// Compares a variant with both baselines. A row holds the logarithms of one block: baseline, baseline again, variant; in the order
/// they were measured. `direction` is which way the metric moves when a feature costs something.
///
/// # Errors
/// If there are fewer than two blocks, or a value is not finite.
pub fn compare(blocks: &[[f64; 3]], direction: Direction) -> Result<Compared, StatsError> {
    let differences = differences(blocks)?;
    let located = differences.each_ref().map(|series| Located::robust(series));
    let disturbed = DisturbedBlocks::of(&differences, &located, direction);
    if disturbed.differ() {
        return Ok(Compared {
            disturbed: Some(disturbed),
            ..compare_means(blocks)?
        });
    }
    let both = located[1].halfway(&located[2]);
    Ok(Compared::of(both, Location::Robust, Some(disturbed)))
}

/// The same where no machine disturbs what is counted, or where it is lumpy: always by the mean.
///
/// # Errors
/// As [`compare`].
pub fn compare_means(blocks: &[[f64; 3]]) -> Result<Compared, StatsError> {
    let [_, variant, variant_again] = differences(blocks)?;
    let both = Located::mean(&variant).halfway(&Located::mean(&variant_again));
    Ok(Compared::of(both, Location::Mean, None))
}

/// Baseline again less baseline, variant less baseline, variant less baseline again.
fn differences(blocks: &[[f64; 3]]) -> Result<[Vec<f64>; 3], StatsError> {
    if blocks.len() < 2 {
        return Err(StatsError::TooFewBlocks { blocks: blocks.len() });
    }
    let of = |one: usize, other: usize| -> Result<Vec<f64>, StatsError> {
        let series: Vec<f64> = blocks.iter().map(|block| block[one] - block[other]).collect();
        check_finite(&series)?;
        Ok(series)
    };
    Ok([of(1, 0)?, of(2, 0)?, of(2, 1)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a variant that takes e^0.1 as much, with small noise of each arm.
    fn blocks(number: usize) -> Vec<[f64; 3]> {
        let noise = |block: usize, arm: usize| 0.01 * ((7 * block + 3 * arm) as f64).sin();
        (0..number)
            .map(|block| [noise(block, 0), noise(block, 1), 0.1 + noise(block, 2)])
            .collect()
    }

    #[test]
    fn a_steady_factor_is_found_exactly() {
        let compared = compare(
            &[[0.0, 0.0, 0.5], [1.0, 1.0, 1.5], [2.0, 2.0, 2.5]],
            Direction::HigherCosts,
        )
        .unwrap();
        assert!((compared.estimate.log_mean - 0.5).abs() < 1e-12);
        assert!(compared.estimate.half_width() < 1e-9);
    }

    #[test]
    fn by_the_mean_it_is_the_mean_of_the_variant_less_that_of_both_baselines() {
        let blocks = blocks(9);
        let series: Vec<f64> = blocks.iter().map(|[b, a, v]| v - (a + b) / 2.0).collect();
        let (found, expected) = (
            compare_means(&blocks).unwrap().estimate,
            Estimate::of_log_ratios(&series).unwrap(),
        );
        assert!((found.log_mean - expected.log_mean).abs() < 1e-12);
        assert!((found.standard_error - expected.standard_error).abs() < 1e-12);
        assert_eq!(found.degrees_of_freedom, expected.degrees_of_freedom);
    }

    #[test]
    fn stalls_of_any_arm_hardly_move_it_and_those_of_the_variant_alone_count_in_full() {
        let stalled = |arms: [usize; 3]| {
            let mut blocks = blocks(60);
            for (stall, arm) in arms.into_iter().cycle().take(6).enumerate() {
                blocks[10 * stall][arm] += 0.5;
            }
            compare(&blocks, Direction::HigherCosts).unwrap()
        };
        let of_all = stalled([0, 1, 2]);
        assert_eq!(of_all.location, Location::Robust);
        assert!((of_all.estimate.log_mean - 0.1).abs() < 0.005, "{of_all:?}");
        let of_variant = stalled([2, 2, 2]);
        assert_eq!(of_variant.location, Location::Mean);
        assert_eq!(of_variant.disturbed.unwrap().variant, 6);
        let is_near = (of_variant.estimate.log_mean - 0.15).abs() < 0.005;
        assert!(is_near, "{of_variant:?}");
        // A variant that is spared what stalls the baseline.
        let of_baselines = stalled([0, 1, 1]);
        assert_eq!(of_baselines.location, Location::Robust, "six are too few");
    }

    #[test]
    fn its_series_has_the_mean_and_the_error_of_the_estimate() {
        let mut blocks = blocks(40);
        blocks[7][0] += 0.4;
        let Compared { estimate, series, .. } = compare(&blocks, Direction::HigherCosts).unwrap();
        let of_series = Estimate::of_log_ratios(&series).unwrap();
        assert!((of_series.log_mean - estimate.log_mean).abs() < 1e-9);
        let ratio = of_series.standard_error / estimate.standard_error;
        assert!((0.97..1.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_is_no_number_and_what_is_alone_is_refused() {
        let is_refused = |blocks: &[[f64; 3]]| compare(blocks, Direction::HigherCosts).is_err();
        assert!(is_refused(&[[0.0; 3]]));
        assert!(is_refused(&[[0.0; 3], [0.0, f64::NAN, 0.0], [0.0; 3]]));
    }
}
