//! From an estimate to a verdict.

use ciphertax_model::Direction;
use ciphertax_model::record::Verdict;

use crate::estimate::Estimate;
use crate::forecast::first_block_count;
use crate::spread::Spread;

/// A difference counts if its p-value, adjusted for the family, is at most this.
pub const SIGNIFICANCE: f64 = 0.05;

/// A noise floor of more than this many times the user's margin excludes nothing that the user would call no cost.
pub const WIDEST_FLOOR: f64 = 3.0;

/// What an estimate is judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// Which way the metric moves when a feature costs something.
    pub direction: Direction,
    /// The smallest change this environment can be trusted to show, as a fraction: [`noise_floor`] of the
    /// baseline against itself, same cell and same metric.
    pub floor: f64,
    /// The smallest cost the user cares about, as a fraction; 0 if none was given.
    pub margin: f64,
    /// The estimate's p-value after [`holm`].
    pub adjusted_p_value: f64,
}

/// What follows from an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The cost that `NoCost` excludes: the larger of floor and margin, as a fraction.
    pub margin: f64,
    /// For `CannotTell`: blocks still needed for any other verdict if estimate and noise stay what they are;
    /// absent if no reasonable number would do. Always absent for the others.
    pub more_blocks: Option<u32>,
}

/// The noise floor that the baseline measured against itself gives: the larger of its change and its
/// half-width.
pub fn noise_floor(baseline_again: &Estimate) -> f64 {
    baseline_again.change.abs().max(baseline_again.half_width())
}

/// Judges an estimate.
///
/// - `Costs` or `Gains`, by the sign, if the interval excludes zero, the adjusted p-value is at most
///   [`SIGNIFICANCE`], and the change exceeds the floor;
/// - else `NoCost` if the interval's bound on the side of cost is below the margin, which is at least the
///   floor;
/// - else `CannotTell`.
pub fn judge(estimate: &Estimate, criteria: &Criteria) -> Judgement {
    let verdict = verdict(estimate, criteria);
    let more_blocks = match verdict {
        Verdict::CannotTell => missing_blocks(estimate, criteria),
        Verdict::Costs | Verdict::Gains | Verdict::NoCost => None,
    };
    Judgement {
        verdict,
        margin: criteria.effective_margin(),
        more_blocks,
    }
}

/// Adjusts p-values so that judging each by [`SIGNIFICANCE`] makes any false alarm in the whole family at
/// most that likely, whatever the dependence between them (Holm 1979). Order is kept.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut ascending: Vec<usize> = (0..p_values.len()).collect();
    ascending.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &row) in ascending.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max((p_values[row] * remaining).min(1.0));
        adjusted[row] = largest;
    }
    adjusted
}

fn verdict(estimate: &Estimate, criteria: &Criteria) -> Verdict {
    let counts = estimate.excludes_zero()
        && criteria.adjusted_p_value <= SIGNIFICANCE
        && estimate.change.abs() > criteria.floor;
    let (is_cost, largest_cost) = match criteria.direction {
        Direction::HigherCosts => (estimate.change > 0.0, estimate.high),
        Direction::LowerCosts => (estimate.change < 0.0, -estimate.low),
    };
    match (counts, is_cost) {
        (true, true) => Verdict::Costs,
        (true, false) => Verdict::Gains,
        (false, _) if largest_cost < criteria.effective_margin() && criteria.excludes_something() => {
            Verdict::NoCost
        }
        (false, _) => Verdict::CannotTell,
    }
}

/// Judges again what more blocks would show: the same effect, with the noise of estimate and floor falling as
/// the square root of the number of blocks.
fn missing_blocks(estimate: &Estimate, criteria: &Criteria) -> Option<u32> {
    let spread = estimate.spread();
    let needed = first_block_count(estimate.blocks + 1, |blocks| {
        let projected = spread.projected_to(blocks);
        let criteria = criteria.projected(&spread, &projected);
        verdict(&Estimate::from(projected), &criteria) != Verdict::CannotTell
    });
    needed.map(|blocks| blocks - estimate.blocks)
}

impl Criteria {
    fn effective_margin(&self) -> f64 {
        self.margin.max(self.floor)
    }

    fn excludes_something(&self) -> bool {
        self.margin == 0.0 || self.floor <= WIDEST_FLOOR * self.margin
    }

    fn projected(&self, now: &Spread, then: &Spread) -> Self {
        // What Holm multiplied the p-value by stays. Where it was cut off at 1 this is less than the truth: a
        // hopeful forecast.
        let multiplier = (self.adjusted_p_value / now.p_value()).max(1.0);
        Self {
            floor: self.floor * (now.blocks / then.blocks).sqrt(),
            adjusted_p_value: (then.p_value() * multiplier).min(1.0),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An estimate of that log-mean and standard error over 21 blocks: the half-width is 2.086 standard
    /// errors.
    fn estimate(log_mean: f64, standard_error: f64) -> Estimate {
        Estimate::from(Spread {
            mean: log_mean,
            standard_error,
            degrees_of_freedom: 20.0,
            blocks: 21.0,
            effective_blocks: 21.0,
        })
    }

    fn judged(estimate: &Estimate, direction: Direction, floor: f64, margin: f64) -> Judgement {
        let criteria = Criteria {
            direction,
            floor,
            margin,
            adjusted_p_value: estimate.p_value,
        };
        judge(estimate, &criteria)
    }

    #[test]
    fn a_clear_rise_costs_or_gains_by_the_direction_of_the_metric() {
        let rise = estimate(0.10, 0.01);
        assert_eq!(
            judged(&rise, Direction::HigherCosts, 0.02, 0.0).verdict,
            Verdict::Costs
        );
        assert_eq!(
            judged(&rise, Direction::LowerCosts, 0.02, 0.0).verdict,
            Verdict::Gains
        );
        let fall = estimate(-0.10, 0.01);
        assert_eq!(
            judged(&fall, Direction::HigherCosts, 0.02, 0.0).verdict,
            Verdict::Gains
        );
        assert_eq!(
            judged(&fall, Direction::LowerCosts, 0.02, 0.0).verdict,
            Verdict::Costs
        );
    }

    #[test]
    fn a_change_within_the_noise_floor_is_no_cost_however_significant() {
        let judgement = judged(&estimate(0.010, 0.001), Direction::HigherCosts, 0.02, 0.0);
        assert_eq!(judgement.verdict, Verdict::NoCost);
        assert_eq!(judgement.margin, 0.02);
    }

    #[test]
    fn a_change_that_the_family_explains_is_not_told() {
        let rise = estimate(0.05, 0.02);
        let criteria = Criteria {
            direction: Direction::HigherCosts,
            floor: 0.01,
            margin: 0.0,
            adjusted_p_value: 0.06,
        };
        assert!(rise.excludes_zero());
        assert_eq!(judge(&rise, &criteria).verdict, Verdict::CannotTell);
    }

    #[test]
    fn no_cost_needs_the_bound_on_the_side_of_cost_below_the_margin() {
        let flat = estimate(0.0, 0.005);
        assert_eq!(
            judged(&flat, Direction::HigherCosts, 0.005, 0.02).verdict,
            Verdict::NoCost
        );
        assert_eq!(
            judged(&flat, Direction::LowerCosts, 0.005, 0.02).verdict,
            Verdict::NoCost
        );
        assert_eq!(
            judged(&flat, Direction::HigherCosts, 0.005, 0.01).verdict,
            Verdict::CannotTell
        );
        assert_eq!(
            judged(&flat, Direction::LowerCosts, 0.005, 0.01).verdict,
            Verdict::CannotTell
        );
    }

    #[test]
    fn no_cost_is_not_said_of_a_floor_far_wider_than_the_margin() {
        let change = estimate(0.05, 0.005);
        assert_eq!(
            judged(&change, Direction::HigherCosts, 0.08, 0.03).verdict,
            Verdict::NoCost
        );
        let judgement = judged(&change, Direction::HigherCosts, 0.08, 0.02);
        assert_eq!(judgement.verdict, Verdict::CannotTell);
        assert!(judgement.more_blocks.is_some());
    }

    #[test]
    fn the_blocks_it_asks_for_suffice_and_are_needed() {
        // The half-width must fall from 0.0209 to below 0.01: some 4.3 times the blocks.
        let vague = estimate(0.0, 0.01);
        let more = judged(&vague, Direction::HigherCosts, 0.005, 0.01)
            .more_blocks
            .unwrap();
        assert!((60..75).contains(&more), "{more}");
    }

    #[test]
    fn a_small_cost_asks_for_the_blocks_that_make_it_significant() {
        // t = 1 now; the interval excludes zero from t ≈ 2 on, and the family asks for p·4 ≤ 0.05, hence t ≈
        // 2.5.
        let small = estimate(0.02, 0.02);
        let criteria = Criteria {
            direction: Direction::HigherCosts,
            floor: 0.02,
            margin: 0.0,
            adjusted_p_value: 4.0 * small.p_value,
        };
        let alone = Criteria {
            adjusted_p_value: small.p_value,
            ..criteria
        };
        let in_family = judge(&small, &criteria).more_blocks.unwrap();
        let alone = judge(&small, &alone).more_blocks.unwrap();
        assert!((58..72).contains(&alone), "{alone}");
        assert!((105..130).contains(&in_family), "{in_family}");
    }

    #[test]
    fn where_noise_stays_above_its_floor_and_there_is_no_margin_no_number_of_blocks_will_do() {
        let flat = estimate(0.0, 0.01);
        let judgement = judged(&flat, Direction::HigherCosts, 0.005, 0.0);
        assert_eq!(
            (judgement.verdict, judgement.more_blocks),
            (Verdict::CannotTell, None)
        );
    }

    #[test]
    fn the_noise_floor_is_the_larger_of_change_and_half_width() {
        let shifted = estimate(-0.03, 0.001);
        assert_eq!(noise_floor(&shifted), -shifted.change);
        let vague = estimate(0.001, 0.01);
        assert_eq!(noise_floor(&vague), vague.half_width());
    }

    #[test]
    fn holm_multiplies_the_smallest_by_all_and_keeps_the_order() {
        let adjusted = holm(&[0.03, 0.01, 0.02, 0.6]);
        let expected = [0.06, 0.04, 0.06, 0.6];
        for (got, want) in adjusted.iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
