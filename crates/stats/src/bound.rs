//! Whether a cost stays within a bound, and whether two runs have the same cost.
//!
//! Both are tests of equivalence: *within* and *same* need the whole interval inside the bound. That no difference was found
//! says neither.

use ciphertax_base::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::paired::LogRatio;
use crate::verdict::{Rule, SIGNIFICANCE};

/// Whether a cost stays within a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum BoundVerdict {
    /// The whole interval lies below the bound, and the distance to it exceeds the noise floor.
    Within,
    /// The whole interval lies above the bound, and so does the family's correction leave it; the distance exceeds the floor.
    Over,
    /// Neither.
    #[strum(serialize = "not decided")]
    CannotTell,
}

/// Whether a cost is the same in two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum CostVerdict {
    /// The later run costs more.
    Dearer,
    /// It costs less.
    Cheaper,
    /// Whatever the difference is, it is smaller than the margin, either way.
    Same,
    /// The interval is too wide to say any of these.
    #[strum(serialize = "not decided")]
    CannotTell,
}

/// What a cost is held to. All are logarithms of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Which way the metric moves when a feature costs something.
    pub direction: Direction,
    /// The largest cost that is allowed, on the side of cost: ln 1.35 for 35 % more CPU, −ln 0.9 for a tenth less throughput.
    pub at_most: f64,
    /// The smallest difference that counts; `None` where it was not measured.
    pub floor: Option<f64>,
}

impl Bound {
    /// One-sided p-value of "the cost is within the bound", before it is adjusted for the family.
    pub fn p_value_over(&self, ratio: &LogRatio) -> f64 {
        self.cost(ratio).p_value_above(self.at_most)
    }

    /// Whether a cost stays within the bound.
    ///
    /// `adjusted_p_value` is that of [`Bound::p_value_over`] after [`holm`](crate::verdict::holm) over all bounds that are held
    /// together: so whichever of them is wrongly called over, it happens in at most 5 % of all families. *Within* needs no
    /// correction: a family passes only if every one of its bounds is within, and that one of them wrongly is has at most the
    /// probability that this one wrongly is (Berger 1982).
    pub fn holds(&self, ratio: &LogRatio, adjusted_p_value: f64) -> (BoundVerdict, Rule) {
        let Some(floor) = self.floor else {
            return (BoundVerdict::CannotTell, Rule::NoFloor);
        };
        let excess = self.cost(ratio).mean - self.at_most;
        let is_outside = excess.abs() > ratio.half_width();
        match (is_outside, excess.abs() > floor, excess > 0.0) {
            (false, _, _) => (BoundVerdict::CannotTell, Rule::IntervalTooWide),
            (true, false, _) => (BoundVerdict::CannotTell, Rule::WithinFloor),
            (true, true, false) => (BoundVerdict::Within, Rule::WithinMargin),
            (true, true, true) if adjusted_p_value <= SIGNIFICANCE => (BoundVerdict::Over, Rule::BeyondFloor),
            (true, true, true) => (BoundVerdict::CannotTell, Rule::ManyComparisons),
        }
    }

    /// On the side of cost, whichever way the metric goes.
    fn cost(&self, ratio: &LogRatio) -> LogRatio {
        match self.direction {
            Direction::HigherCosts => *ratio,
            Direction::LowerCosts => ratio.inverse(),
        }
    }
}

/// What a ratio of ratios is judged by. Floor and margin are logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sameness {
    /// Which way the metric moves when a feature costs something.
    pub direction: Direction,
    /// The smallest difference that counts: [`LogRatio::noise_floor`] of the repeated baselines of both runs; `None` where one
    /// of them was not measured.
    pub floor: Option<f64>,
    /// What differs by less is the same.
    pub margin: f64,
    /// The two-sided p-value after [`holm`](crate::verdict::holm) over all that is compared.
    pub adjusted_p_value: f64,
}

/// As a logarithm, what is printed as 0.0 %.
const LEAST: f64 = 0.000_5;

impl Sameness {
    /// Judges the ratio of the later run's ratio to the earlier one's. In this order:
    ///
    /// - without a floor nothing can be told;
    /// - what prints as 0.0 % is the same, as of bytes, which hardly have noise;
    /// - if the interval excludes no difference and the difference exceeds the floor: dearer or cheaper, if the adjusted p-value
    ///   is at most [`SIGNIFICANCE`]; a difference that is not significant cannot be told, and is never *the same*;
    /// - the same if the whole interval lies within the margin, either way (two one-sided tests, Schuirmann 1987), and the floor
    ///   does too: where the baselines alone differ by more than the margin, being within it means nothing;
    /// - else it cannot be told.
    pub fn judge(&self, ratio: &LogRatio) -> (CostVerdict, Rule) {
        let Some(floor) = self.floor else {
            return (CostVerdict::CannotTell, Rule::NoFloor);
        };
        let (size, half_width) = (ratio.mean.abs(), ratio.half_width());
        let is_dearer = match self.direction {
            Direction::HigherCosts => ratio.mean > 0.0,
            Direction::LowerCosts => ratio.mean < 0.0,
        };
        let is_beyond_noise = size > half_width && size > floor;
        match (is_beyond_noise, self.adjusted_p_value <= SIGNIFICANCE) {
            _ if size + half_width < LEAST && LEAST <= self.margin => (CostVerdict::Same, Rule::WithinMargin),
            (true, true) if is_dearer => (CostVerdict::Dearer, Rule::BeyondFloor),
            (true, true) => (CostVerdict::Cheaper, Rule::BeyondFloor),
            (true, false) => (CostVerdict::CannotTell, Rule::ManyComparisons),
            _ if size + half_width < self.margin => match floor < self.margin {
                true => (CostVerdict::Same, Rule::WithinMargin),
                false => (CostVerdict::CannotTell, Rule::FloorTooWide),
            },
            _ if size > half_width => (CostVerdict::CannotTell, Rule::WithinFloor),
            _ => (CostVerdict::CannotTell, Rule::IntervalTooWide),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ratio whose interval is ± 0.02 around this on the logarithmic scale.
    fn ratio(mean: f64) -> LogRatio {
        LogRatio {
            mean,
            standard_error: 0.01,
            degrees_of_freedom: 60.0,
        }
    }

    fn held(direction: Direction, mean: f64, floor: Option<f64>) -> (BoundVerdict, Rule) {
        let bound = Bound {
            direction,
            at_most: 0.3,
            floor,
        };
        let p_value = bound.p_value_over(&ratio(mean));
        bound.holds(&ratio(mean), p_value)
    }

    #[test]
    fn within_needs_the_whole_interval_below_the_bound() {
        use BoundVerdict::{CannotTell, Over, Within};
        for (mean, expected) in [
            (0.2, Within),
            (0.279, Within),
            (0.281, CannotTell),
            (0.3, CannotTell),
            (0.319, CannotTell),
            (0.321, Over),
            (0.9, Over),
        ] {
            let found = held(Direction::HigherCosts, mean, Some(0.01)).0;
            assert_eq!(found, expected, "{mean}");
            let found = held(Direction::LowerCosts, -mean, Some(0.01)).0;
            assert_eq!(found, expected, "{mean}");
        }
    }

    #[test]
    fn a_distance_within_the_noise_floor_says_nothing_and_neither_does_one_without_a_floor() {
        use BoundVerdict::CannotTell;
        for mean in [0.25, 0.35] {
            let of = |floor| held(Direction::HigherCosts, mean, floor);
            assert_eq!(of(Some(0.06)), (CannotTell, Rule::WithinFloor));
            assert_eq!(of(None), (CannotTell, Rule::NoFloor));
        }
    }

    #[test]
    fn one_of_many_bounds_must_be_exceeded_beyond_chance() {
        let bound = Bound {
            direction: Direction::HigherCosts,
            at_most: 0.3,
            floor: Some(0.0),
        };
        let p_value = bound.p_value_over(&ratio(0.322));
        assert_eq!(bound.holds(&ratio(0.322), p_value).0, BoundVerdict::Over);
        let found = bound.holds(&ratio(0.322), 12.0 * p_value);
        assert_eq!(found, (BoundVerdict::CannotTell, Rule::ManyComparisons));
    }

    fn judged(direction: Direction, mean: f64, floor: Option<f64>) -> (CostVerdict, Rule) {
        Sameness {
            direction,
            floor,
            margin: 0.05,
            adjusted_p_value: ratio(mean).p_value(),
        }
        .judge(&ratio(mean))
    }

    #[test]
    fn the_same_needs_the_whole_interval_within_the_margin_on_both_sides() {
        use CostVerdict::{CannotTell, Cheaper, Dearer, Same};
        for (mean, expected) in [
            (0.0, Same),
            (0.019, Same),
            (-0.019, Same),
            (0.021, Dearer),
            (-0.021, Cheaper),
            (0.5, Dearer),
        ] {
            let found = judged(Direction::HigherCosts, mean, Some(0.01)).0;
            assert_eq!(found, expected, "{mean}");
        }
        assert_eq!(judged(Direction::LowerCosts, -0.1, Some(0.01)).0, Dearer);
        let found = judged(Direction::HigherCosts, 0.04, Some(0.045));
        assert_eq!(found, (CannotTell, Rule::WithinFloor));
        let found = judged(Direction::HigherCosts, 0.0, Some(0.06));
        assert_eq!(found, (CannotTell, Rule::FloorTooWide));
        let found = judged(Direction::HigherCosts, 0.0, None);
        assert_eq!(found, (CannotTell, Rule::NoFloor));
    }

    #[test]
    fn what_prints_as_nothing_is_the_same_however_certain() {
        let bytes = LogRatio {
            standard_error: 1e-7,
            ..ratio(1e-5)
        };
        let sameness = Sameness {
            direction: Direction::HigherCosts,
            floor: Some(0.0),
            margin: 0.05,
            adjusted_p_value: 0.0,
        };
        assert_eq!(sameness.judge(&bytes), (CostVerdict::Same, Rule::WithinMargin));
        let one_percent = LogRatio { mean: 0.01, ..bytes };
        assert_eq!(sameness.judge(&one_percent).0, CostVerdict::Dearer);
    }

    #[test]
    fn no_significant_difference_is_not_the_same() {
        let wide = LogRatio {
            standard_error: 0.04,
            ..ratio(0.0)
        };
        let sameness = Sameness {
            direction: Direction::HigherCosts,
            floor: Some(0.01),
            margin: 0.05,
            adjusted_p_value: 1.0,
        };
        let found = sameness.judge(&wide);
        assert_eq!(found, (CostVerdict::CannotTell, Rule::IntervalTooWide));
        let found = sameness.judge(&ratio(0.025));
        assert_eq!(found, (CostVerdict::CannotTell, Rule::ManyComparisons));
    }
}
