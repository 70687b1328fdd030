//! One figure, measured several times.

use std::fmt;

/// One figure, by the repeats in the order they were measured. Displayed as `median [lowest–highest]`, with as many digits as the
/// precision of the format says.
#[derive(Debug, Clone, Default)]
pub struct Repeats(pub Vec<f64>);

impl Repeats {
    /// The ratio of each repeat of this figure to the same repeat of another.
    pub fn over(&self, other: &Self) -> Self {
        self.with(other, |this, that| this / that)
    }

    /// The sum of each repeat of this figure and the same repeat of another.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |this, that| this + that)
    }

    /// What each repeat of this figure has more than the same repeat of another.
    pub fn minus(&self, other: &Self) -> Self {
        self.with(other, |this, that| this - that)
    }

    /// The value in the middle; not a number if there is none.
    pub fn median(&self) -> f64 {
        let sorted = self.sorted();
        match sorted.len() {
            0 => f64::NAN,
            count if count.is_multiple_of(2) => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
            count => sorted[count / 2],
        }
    }

    /// The standard deviation of the repeats (n − 1); not a number if there are fewer than two.
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.0.len() as f64 - 1.0)).sqrt()
    }

    /// The mean of the repeats; not a number if there is none.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    fn with(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        let pairs = self.0.iter().zip(&other.0);
        pairs.map(|(this, that)| combine(*this, *that)).collect()
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl FromIterator<f64> for Repeats {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let sorted = self.sorted();
        match (sorted.first(), sorted.last()) {
            (Some(low), Some(high)) if sorted.len() > 1 => {
                write!(f, "{:.digits$} [{low:.digits$}–{high:.digits$}]", self.median())
            }
            (Some(only), _) => write!(f, "{only:.digits$}"),
            _ => f.write_str("–"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        let odd: Repeats = [3.0, 1.0, 2.0].into_iter().collect();
        let even: Repeats = [4.0, 1.0, 2.0, 3.0].into_iter().collect();
        assert_eq!((odd.median(), even.median()), (2.0, 2.5));
        assert_eq!(format!("{odd:.1}"), "2.0 [1.0–3.0]");
        assert_eq!(format!("{:.1}", Repeats::default()), "–");
    }

    #[test]
    fn figures_are_combined_repeat_by_repeat() {
        let ours: Repeats = [1.0, 4.0].into_iter().collect();
        let theirs: Repeats = [2.0, 2.0].into_iter().collect();
        assert_eq!(ours.over(&theirs).0, [0.5, 2.0]);
        assert_eq!(ours.plus(&theirs).0, [3.0, 6.0]);
        assert_eq!(ours.minus(&theirs).0, [-1.0, 2.0]);
    }

    #[test]
    fn the_standard_deviation_is_that_of_a_sample() {
        let repeats: Repeats = [2.0, 4.0, 6.0].into_iter().collect();
        assert_eq!(repeats.standard_deviation(), 2.0);
    }
}
