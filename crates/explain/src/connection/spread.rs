//! Medians and quartiles of a few values.

use ciphertax_records::Spread;
use ciphertax_stats::Interval;

/// The median with its quartiles; of nothing, zero.
pub(super) fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    Spread {
        median: quantile(&values, 0.5),
        low: quantile(&values, 0.25),
        high: quantile(&values, 0.75),
        least: quantile(&values, 0.0),
        most: quantile(&values, 1.0),
    }
}

pub(super) fn median(values: Vec<f64>) -> f64 {
    spread(values).median
}

/// The median with its 95 % interval, which ends at two of the values: as many below the one as above the other, so that the
/// true median lies outside by one chance in twenty at most, whatever the values' distribution (that of the sign test;
/// Conover, Practical Nonparametric Statistics, 3.2). `None` for fewer than six values, of which no two are far enough apart.
pub(super) fn median_interval(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let outside = outside(values.len())?;
    Some(Interval {
        value: quantile(&values, 0.5),
        low: values[outside],
        high: values[values.len() - 1 - outside],
    })
}

/// The chance that a 95 % interval leaves on each side.
const TAIL: f64 = 0.025;

/// How many of so many values may lie on each side of the interval: the most whose binomial chance (of one half each) is
/// not above [`TAIL`].
fn outside(count: usize) -> Option<usize> {
    // Of exactly `below` values under the median, in logarithms: two to the minus ten thousand is no number.
    let mut log_chance = -(count as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    let mut outside = None;
    for below in 0..count {
        sum += log_chance.exp();
        if sum > TAIL {
            break;
        }
        outside = Some(below);
        log_chance += ((count - below) as f64 / (below + 1) as f64).ln();
    }
    outside
}

/// Between the two nearest of sorted values (type 7 of Hyndman and Fan, the default of R and NumPy).
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = part * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table of binomial chances: of 12, three or more on a side are too many (0.019 for two at most, 0.073 for three).
    #[test]
    fn a_median_has_the_interval_of_the_sign_test_from_six_values_on() {
        let of = |count: u32| median_interval((1..=count).rev().map(f64::from).collect());
        assert_eq!(of(5), None);
        for (count, low, value, high) in [
            (6, 1.0, 3.5, 6.0),
            (12, 3.0, 6.5, 10.0),
            (20, 6.0, 10.5, 15.0),
            (100, 40.0, 50.5, 61.0),
        ] {
            assert_eq!(of(count), Some(Interval { value, low, high }), "{count}");
        }
        let many = of(10_000).unwrap();
        assert!((4_900.0..4_910.0).contains(&many.low), "{many:?}");
    }

    #[test]
    fn quartiles_are_those_of_r() {
        let found = spread(vec![7.0, 1.0, 2.0, 4.0]);
        let found = [found.least, found.low, found.median, found.high, found.most];
        assert_eq!(found, [1.0, 1.75, 3.0, 4.75, 7.0]);
        assert_eq!(spread(vec![5.0]).high, 5.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
