//! The means of groups that scatter alike, and how far they are apart.

use crate::interval::Interval;
use crate::spread::student_quantile;

/// Values in groups, whose scatter around their own means is taken as one: where groups are small, none of them alone says
/// how far its mean may be from the truth (one-way analysis of variance).
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// Mean and number of values of each.
    groups: Vec<(f64, f64)>,
    standard_deviation: f64,
    degrees_of_freedom: f64,
}

/// Degrees of freedom from which on an interval is given: with fewer its width is little more than chance.
const LEAST_FREEDOM: f64 = 4.0;

impl Groups {
    /// Of values that are finite numbers; groups without any have no mean.
    pub fn of<'a>(groups: impl IntoIterator<Item = &'a [f64]>) -> Self {
        let (mut means, mut squares, mut degrees_of_freedom) = (Vec::new(), 0.0, 0.0);
        for values in groups {
            let number = values.len() as f64;
            let mean = values.iter().sum::<f64>() / number;
            squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            degrees_of_freedom += (number - 1.0).max(0.0);
            means.push((mean, number));
        }
        Self {
            groups: means,
            standard_deviation: (squares / f64::max(degrees_of_freedom, 1.0)).sqrt(),
            degrees_of_freedom,
        }
    }

    /// The standard deviation of the values around the means of their groups; 0 where none shares a group.
    pub fn standard_deviation(&self) -> f64 {
        self.standard_deviation
    }

    /// The mean of a group; not a number where it is empty.
    pub fn mean(&self, group: usize) -> f64 {
        self.groups.get(group).map_or(f64::NAN, |(mean, _)| *mean)
    }

    /// The mean of a group with its 95 % interval; `None` where too few values share a group to tell how they scatter.
    pub fn level(&self, group: usize) -> Option<Interval> {
        let (mean, number) = self.groups.get(group)?;
        self.around(*mean, 1.0 / number)
    }

    /// The mean of `to` less that of `from` with its 95 % interval; `None` as for [`Groups::level`].
    pub fn difference(&self, from: usize, to: usize) -> Option<Interval> {
        let (before, after) = (self.groups.get(from)?, self.groups.get(to)?);
        self.around(after.0 - before.0, 1.0 / before.1 + 1.0 / after.1)
    }

    fn around(&self, value: f64, variances: f64) -> Option<Interval> {
        if self.degrees_of_freedom < LEAST_FREEDOM || !value.is_finite() {
            return None;
        }
        let half_width =
            student_quantile(self.degrees_of_freedom) * self.standard_deviation * variances.sqrt();
        Some(Interval::around(value, half_width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_are_compared_as_by_students_t_test() {
        // Squares of 2 and 2 around their means, over 5 degrees of freedom, whose 97.5 % point is 2.570582.
        let groups = Groups::of([&[1.0, 2.0, 3.0, 2.0][..], &[5.0, 6.0, 7.0]]);
        let difference = groups.difference(0, 1).unwrap();
        assert_eq!(difference.value, 4.0);
        let half_width = 2.570_582 * (4.0_f64 / 5.0 * (1.0 / 4.0 + 1.0 / 3.0)).sqrt();
        assert!(
            (difference.high - 4.0 - half_width).abs() < 1e-5,
            "{difference:?}"
        );
        assert!((4.0 - difference.low - half_width).abs() < 1e-5);
    }

    #[test]
    fn a_group_of_one_borrows_the_scatter_of_the_others() {
        let groups = Groups::of([&[1.0, 2.0, 3.0, 2.0, 2.0][..], &[9.0]]);
        let level = groups.level(1).unwrap();
        assert!(level.low < 9.0 - 1.9 && level.low > 9.0 - 2.1, "{level:?}");
        assert_eq!(groups.mean(1), 9.0);
    }

    #[test]
    fn few_values_have_no_interval() {
        let groups = Groups::of([&[1.0, 2.0][..], &[9.0, 9.1]]);
        assert_eq!(groups.level(0), None);
        assert_eq!(groups.difference(0, 1), None);
        assert_eq!(Groups::of([&[][..]]).level(0), None);
    }
}
