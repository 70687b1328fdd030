//! Where a series lies: its mean, or a location that a few blocks far from the others hardly move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands for all blocks of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// Huber's M-estimator (1964): blocks further from the rest than its [`TUNING`] count as if they were no further.
    Robust,
    /// The arithmetic mean: whatever happens in few blocks counts in full.
    Mean,
}

/// A block further away than so many robust standard deviations counts as if it were no further.
///
/// On Gaussian noise the interval is 5 % wider than that of the mean (efficiency 0.90). With the usual 1.345 it would be 2 %; but
/// where a machine disturbs one arm half as often again as the other, 1 lets through a quarter less of it, and on recorded runs
/// both are equally narrow.
pub const TUNING: f64 = 1.0;

/// Blocks from which on a difference has an interval. With fewer, their spread is little more than chance: Student's
/// quantile is 2.8 with five, 4.3 with three and 12.7 with two.
pub const FEWEST_BLOCKS: u32 = 5;

/// The distance between the quartiles of Gaussian noise in standard deviations: 2 · Φ⁻¹(3/4).
const BETWEEN_QUARTILES: f64 = 1.348_979_500_392_163_5;

/// Rounds of reweighting; a dozen are usual.
const MOST_ROUNDS: usize = 60;

/// The location of a series, with what each block does to it.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    pub(crate) value: f64,
    /// A series whose spread is that of the value, as that of the values themselves is of the mean: the value and the influence
    /// of each block (Hampel 1974).
    pub(crate) influence: Vec<f64>,
    /// Blocks that count with their own value, at least two; the others tell little of the spread.
    pub(crate) within: f64,
}

impl Located {
    /// The mean of a series that is not empty.
    pub(crate) fn mean(series: &[f64]) -> Self {
        Self {
            value: series.iter().sum::<f64>() / series.len() as f64,
            influence: series.to_vec(),
            within: series.len() as f64,
        }
    }

    /// Huber's M-estimator of a series that is not empty, by iterated reweighting from the median, with the distance between the
    /// quartiles for its scale (Huber 1964; Huber and Ronchetti 2009, 6.7). The median absolute deviation would be the usual scale,
    /// but is next to nothing where a variant has two speeds and more than half the blocks have one of them. A series without a
    /// scale, or too short for one: its mean.
    pub(crate) fn robust(series: &[f64]) -> Self {
        let [lower, median, upper] = quartiles(series);
        let scale = (upper - lower) / BETWEEN_QUARTILES;
        if scale == 0.0 || series.len() < FEWEST_BLOCKS as usize {
            return Self::mean(series);
        }
        let mut value = median;
        let limit = TUNING * scale;
        for _ in 0..MOST_ROUNDS {
            let (mut sum, mut weights) = (0.0, 0.0);
            for x in series {
                let weight = (limit / (x - value).abs()).min(1.0);
                sum += weight * x;
                weights += weight;
            }
            let step = sum / weights - value;
            value += step;
            if step.abs() <= 1e-9 * scale {
                break;
            }
        }
        let within = series.iter().filter(|x| (*x - value).abs() <= limit).count();
        let within = within.max(2) as f64;
        let growth = series.len() as f64 / within;
        let influence = |x: &f64| value + growth * (x - value).clamp(-limit, limit);
        Self {
            value,
            influence: series.iter().map(influence).collect(),
            within,
        }
    }

    /// Halfway between two locations of the same blocks.
    pub(crate) fn halfway(&self, other: &Self) -> Self {
        let pairs = self.influence.iter().zip(&other.influence);
        Self {
            value: f64::midpoint(self.value, other.value),
            influence: pairs.map(|(one, other)| f64::midpoint(*one, *other)).collect(),
            within: f64::midpoint(self.within, other.within),
        }
    }
}

/// Linear between neighbouring values (Hyndman and Fan 1996, their seventh).
fn quartiles(series: &[f64]) -> [f64; 3] {
    let mut sorted = series.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len() - 1;
    [0.25, 0.5, 0.75].map(|share| {
        let place = share * last as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + place.fract() * (above - below)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_of_the_textbook() {
        assert_eq!(quartiles(&[3.0, 1.0, 2.0, 5.0, 4.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&[4.0, 1.0, 3.0, 2.0]), [1.75, 2.5, 3.25]);
        assert_eq!(quartiles(&[7.0]), [7.0; 3]);
    }

    #[test]
    fn it_solves_hubers_equation() {
        // Nine values near 2, one at 100: the clipped distances from the location add up to nothing.
        let series = [1.8, 1.9, 1.95, 2.0, 2.0, 2.05, 2.1, 2.1, 2.3, 100.0];
        let located = Located::robust(&series);
        let [lower, _, upper] = quartiles(&series);
        let limit = TUNING * (upper - lower) / BETWEEN_QUARTILES;
        let clipped: f64 = series
            .iter()
            .map(|x| (x - located.value).clamp(-limit, limit))
            .sum();
        assert!(clipped.abs() < 1e-8, "{clipped}");
        assert!((1.9..2.2).contains(&located.value), "{located:?}");
    }

    #[test]
    fn one_block_far_away_moves_it_no_further_the_further_it_is() {
        let with = |far: f64| Located::robust(&[0.9, 1.0, 1.1, 1.05, 0.95, 1.02, far]).value;
        assert!((with(10.0) - with(1e6)).abs() < 1e-9);
    }

    #[test]
    fn it_goes_along_with_a_shift_and_with_the_unit() {
        let series = [0.3, -0.1, 0.25, 0.9, 0.2, 0.18, 0.22];
        let plain = Located::robust(&series).value;
        let changed: Vec<f64> = series.iter().map(|x| 5.0 - 3.0 * x).collect();
        assert!((Located::robust(&changed).value - (5.0 - 3.0 * plain)).abs() < 1e-9);
    }

    #[test]
    fn where_most_values_are_equal_it_is_the_mean() {
        let located = Located::robust(&[1.0, 1.0, 1.0, 1.0, 6.0]);
        assert_eq!((located.value, located.within), (2.0, 5.0));
    }

    #[test]
    fn of_two_speeds_it_is_not_the_more_frequent_one() {
        let series: Vec<f64> = (0..40)
            .map(|block| f64::from(u8::from(block % 5 < 2)) + 1e-6 * f64::from(block))
            .collect();
        let value = Located::robust(&series).value;
        assert!((value - 0.4).abs() < 0.01, "{value}");
    }
}
