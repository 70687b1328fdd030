//! Intervals of formulas made of several means.

use ciphertax_base::Interval;

use crate::error::StatsError;
use crate::spread::{Spread, sum_of_independent};

/// What a formula of the means of two cells comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Formula {
    /// Its value with the 95 % interval.
    pub interval: Interval,
    /// Two-sided p-value of "it is zero".
    pub p_value: f64,
}

/// A formula of the means of two cells, with its 95 % interval, as [`formula_of`] gives it.
///
/// # Errors
/// Those of [`formula_of`].
pub fn interval_of<const A: usize, const B: usize>(
    a: &[[f64; A]],
    b: &[[f64; B]],
    formula: impl Fn(&[f64; A], &[f64; B]) -> f64,
) -> Result<Interval, StatsError> {
    formula_of(a, b, formula).map(|formula| formula.interval)
}

/// A formula of the means of two cells, with its 95 % interval and its p-value.
///
/// A row of `a` or `b` holds what one block of that cell measured, all arms together, so that what the arms
/// of a block have in common is accounted for; the cells are taken as independent. `formula` gets the means
/// of the columns. Give it logarithms and let it exponentiate where the result should agree with an
/// [`Estimate`](crate::Estimate), which is a mean of logarithms.
///
/// The interval comes from the jackknife over blocks (Tukey 1958; Efron and Stein 1981): each cell's
/// pseudo-values are a series like any other, widened for serial correlation; their variances add up, with
/// the degrees of freedom of Welch and Satterthwaite. No random numbers are drawn: the same blocks give the
/// same interval.
///
/// # Errors
/// If a cell has fewer than two blocks, or the formula is not finite with a block left out.
pub fn formula_of<const A: usize, const B: usize>(
    a: &[[f64; A]],
    b: &[[f64; B]],
    formula: impl Fn(&[f64; A], &[f64; B]) -> f64,
) -> Result<Formula, StatsError> {
    let (mean_a, mean_b) = (column_means(a), column_means(b));
    let value = formula(&mean_a, &mean_b);
    let spread_a = Spread::of(&pseudo_values(value, a, |means| formula(means, &mean_b)))?;
    let spread_b = Spread::of(&pseudo_values(value, b, |means| formula(&mean_a, means)))?;
    let spread = Spread {
        mean: value,
        ..sum_of_independent(&spread_a, &spread_b)
    };
    Ok(Formula {
        interval: Interval::around(value, spread.half_width()),
        p_value: spread.p_value(),
    })
}

/// How much each block pulls: n·f(all) − (n−1)·f(all but one).
fn pseudo_values<const N: usize>(
    value: f64,
    rows: &[[f64; N]],
    formula: impl Fn(&[f64; N]) -> f64,
) -> Vec<f64> {
    let n = rows.len() as f64;
    let means = column_means(rows);
    rows.iter()
        .map(|row| {
            let others = std::array::from_fn(|i| means[i] + (means[i] - row[i]) / (n - 1.0));
            n * value - (n - 1.0) * formula(&others)
        })
        .collect()
}

fn column_means<const N: usize>(rows: &[[f64; N]]) -> [f64; N] {
    std::array::from_fn(|i| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::MeanEstimate;

    #[test]
    fn a_plain_mean_has_the_interval_of_a_mean() {
        let series = [0.9, 2.1, 1.2, 1.8, 1.4, 1.6];
        let rows = series.map(|x| [x]);
        let interval = interval_of(&rows, &[[5.0], [5.0]], |a, b| a[0] + b[0]).unwrap();
        let mean = MeanEstimate::of(&series).unwrap();
        assert!((interval.value - mean.mean - 5.0).abs() < 1e-12);
        assert!((interval.low - mean.low - 5.0).abs() < 1e-9);
        assert!((interval.high - mean.high - 5.0).abs() < 1e-9);
    }

    #[test]
    fn what_arms_of_a_block_share_cancels() {
        let blocks: Vec<[f64; 2]> = (1..=10).map(|i| [f64::from(i), 1.2 * f64::from(i)]).collect();
        let other = [[1.0], [1.0]];
        let interval = interval_of(&blocks, &other, |a, _| a[1] / a[0] - 1.0).unwrap();
        assert!((interval.value - 0.2).abs() < 1e-12);
        assert!(interval.high - interval.low < 1e-9);
    }

    #[test]
    fn both_cells_add_to_the_uncertainty() {
        let noisy = [[1.0], [3.0], [1.0], [3.0], [1.0], [3.0]];
        let constant = [[2.0], [2.0]];
        let width = |a: &[[f64; 1]], b: &[[f64; 1]]| {
            let interval = interval_of(a, b, |a, b| a[0] + b[0]).unwrap();
            interval.high - interval.low
        };
        // √2 wider, and t(10) instead of t(5).
        let ratio = width(&noisy, &noisy) / width(&noisy, &constant);
        let is_near = (ratio - 2.0_f64.sqrt() * 2.228_139 / 2.570_582).abs() < 1e-5;
        assert!(is_near, "{ratio}");
    }

    #[test]
    fn a_formula_is_significant_exactly_where_its_interval_excludes_zero() {
        let noisy = [[1.0], [3.0], [1.0], [3.0], [1.0], [3.0]];
        let mut significant = 0;
        for step in -40..=40 {
            let other = [[2.0 + f64::from(step) / 20.0]; 2];
            let Formula { interval, p_value } = formula_of(&noisy, &other, |a, b| a[0] - b[0]).unwrap();
            let excludes_zero = interval.low > 0.0 || interval.high < 0.0;
            assert_eq!(p_value < 0.05, excludes_zero, "{interval:?}: {p_value}");
            significant += u32::from(excludes_zero);
        }
        assert!((1..81).contains(&significant), "{significant}");
    }

    #[test]
    fn one_block_is_too_few() {
        let result = interval_of(&[[1.0]], &[[1.0], [2.0]], |a, b| a[0] + b[0]);
        assert!(result.is_err());
    }
}
