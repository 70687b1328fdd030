//! When to stop measuring a cell.
//!
//! The rule of Chow and Robbins (1965): measure until the interval is as narrow as wanted. It looks at
//! half-widths and never at effects. For Gaussian noise the spread of the blocks so far says nothing about
//! their mean, so stopping on it does not favour one sign or a large effect; what is left is that the spread
//! at the stop is a little too small. A minimum number of blocks and the interval's widening for serial
//! correlation make up for it, as the simulations show. They watch the repeated baseline along with a
//! variant, as every caller should: the noise floor is made of it.

use crate::error::StatsError;
use crate::forecast::first_block_count;
use crate::spread::{NORMAL_QUANTILE, Spread};

/// Blocks measured before the rule may stop. With fewer, a spread that came out small by chance stops too
/// early.
pub const MINIMUM_BLOCKS: u32 = 12;

/// A row that is watched, and how precise it must become.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The log-ratios so far, in the order they were measured.
    pub log_ratios: &'a [f64],
    /// Wanted half-width of the 95 % interval of the ratio, as a fraction of the ratio.
    pub half_width: f64,
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
///
/// # Errors
/// If a log-ratio is not finite.
pub fn progress(targets: &[Target<'_>]) -> Result<Progress, StatsError> {
    if is_precise(targets)? {
        return Ok(Progress::Precise);
    }
    let missing = targets
        .iter()
        .map(missing_blocks)
        .collect::<Result<Option<Vec<u32>>, StatsError>>()?;
    Ok(Progress::Continue {
        more_blocks: missing.and_then(|blocks| blocks.into_iter().max()),
    })
}

/// The stopping rule itself: true if every row has the minimum of blocks and its wanted half-width.
///
/// # Errors
/// If a log-ratio is not finite.
pub fn is_precise(targets: &[Target<'_>]) -> Result<bool, StatsError> {
    for target in targets {
        if target.log_ratios.len() < MINIMUM_BLOCKS as usize
            || !target.reached_by(&Spread::of(target.log_ratios)?)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Target<'_> {
    /// The half-width is compared on the logarithmic scale: that of the ratio grows with the ratio, which the
    /// rule must not see.
    fn reached_by(&self, spread: &Spread) -> bool {
        let wanted = self.half_width.ln_1p();
        NORMAL_QUANTILE * spread.standard_error <= wanted && spread.half_width() <= wanted
    }
}

fn missing_blocks(target: &Target<'_>) -> Result<Option<u32>, StatsError> {
    if target.log_ratios.len() < FEWEST_FOR_A_FORECAST {
        return Ok(None);
    }
    let spread = Spread::of(target.log_ratios)?;
    let so_far = target.log_ratios.len() as u32;
    let needed = first_block_count(so_far.max(MINIMUM_BLOCKS), |blocks| {
        target.reached_by(&spread.projected_to(blocks))
    });
    Ok(needed.map(|blocks| blocks - so_far))
}

/// The spread of fewer blocks is off by more than a factor of two too often to forecast from.
const FEWEST_FOR_A_FORECAST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// Log-ratios of spread 0.02 around `mean`, without serial correlation.
    fn noise(blocks: usize, mean: f64) -> Vec<f64> {
        (0..blocks)
            .map(|i| mean + if i % 2 == 0 { 0.02 } else { -0.02 })
            .collect()
    }

    fn watch(log_ratios: &[f64], half_width: f64) -> Progress {
        progress(&[Target {
            log_ratios,
            half_width,
        }])
        .unwrap()
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
            assert_eq!(
                watch(&noise(blocks, 0.0), 0.008),
                watch(&noise(blocks, 0.7), 0.008)
            );
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
        let rows = |half_width| {
            [
                Target {
                    log_ratios: &steady,
                    half_width: 0.1,
                },
                Target {
                    log_ratios: &noisy,
                    half_width,
                },
            ]
        };
        assert_eq!(progress(&rows(0.1)), Ok(Progress::Precise));
        assert_eq!(progress(&rows(0.005)), Ok(watch(&noisy, 0.005)));
    }

    #[test]
    fn does_not_forecast_from_too_few_blocks_nor_beyond_reason() {
        assert_eq!(
            watch(&noise(3, 0.0), 0.01),
            Progress::Continue { more_blocks: None }
        );
        assert_eq!(
            watch(&noise(20, 0.0), 1e-5),
            Progress::Continue { more_blocks: None }
        );
    }
}
