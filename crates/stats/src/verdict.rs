//! From an estimate to a verdict.

use ciphertax_model::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::forecast::first_block_count;
use crate::spread::Spread;

/// A difference counts if its p-value, adjusted for the family, is at most this.
pub const SIGNIFICANCE: f64 = 0.05;

/// A noise floor of more than this many times the user's margin excludes nothing that the user would call no cost.
pub const WIDEST_FLOOR: f64 = 3.0;

/// What an estimate is judged by. Floor and margin are logarithms of a ratio, as the estimate's own mean is: there a
/// halving and a doubling are equally far from no change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// Which way the metric moves when a feature costs something.
    pub direction: Direction,
    /// The smallest change this environment can be trusted to show: [`noise_floor`] of the baseline against itself, same
    /// cell and same metric; `None` if that was not measured.
    pub floor: Option<f64>,
    /// The smallest cost the user cares about; 0 if none was given.
    pub margin: f64,
    /// The estimate's p-value after [`holm`].
    pub adjusted_p_value: f64,
}

/// What follows from an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The feature costs: the interval excludes zero and the effect exceeds the noise floor.
    Costs,
    /// An impossible sign: the feature seems to help. A suspicion about the environment, or explained by a finding.
    Gains,
    /// No cost larger than `margin`.
    NoCost,
    /// The interval is too wide to say either.
    CannotTell,
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// `costs`, `gains`: the interval excludes zero, the change exceeds the noise floor, and it is significant among
    /// all comparisons of the run.
    BeyondFloor,
    /// `no_cost`: the interval ends below the margin.
    WithinMargin,
    /// `cannot_tell`: the interval holds zero, and also changes beyond the margin.
    #[default]
    IntervalTooWide,
    /// `cannot_tell`: the interval excludes zero, but the change does not exceed the noise floor.
    WithinFloor,
    /// `cannot_tell`: the interval excludes zero and the change exceeds the noise floor, but it is not significant
    /// among so many comparisons.
    ManyComparisons,
    /// `cannot_tell`: the noise floor is so much larger than the margin that being below it means nothing.
    FloorTooWide,
    /// `cannot_tell`: the baseline again was not measured, so there is no noise floor.
    NoFloor,
    /// `cannot_tell`: the load generator was the bottleneck.
    ClientBound,
}

/// What follows from an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is that.
    pub rule: Rule,
    /// The cost that `NoCost` excludes: the larger of floor and margin, as the logarithm of a ratio.
    pub margin: f64,
    /// For `CannotTell`: blocks still needed for any other verdict if estimate and noise stay what they are;
    /// absent if no reasonable number would do. Always absent for the others.
    pub more_blocks: Option<u32>,
}

/// The noise floor that the baseline measured against itself gives: the larger of its change and its
/// half-width, as the logarithm of a ratio.
pub fn noise_floor(baseline_again: &Estimate) -> f64 {
    baseline_again
        .log_mean
        .abs()
        .max(baseline_again.spread().half_width())
}

/// Judges an estimate. In this order:
///
/// - without a floor nothing can be told;
/// - if the interval excludes zero and the change exceeds the floor: `Costs` or `Gains`, by the sign, if the
///   adjusted p-value is at most [`SIGNIFICANCE`]; a cost that is not significant cannot be told, and is never `NoCost`;
/// - `NoCost` if the interval's bound on the side of cost is below the margin, which is at least the floor;
/// - else `CannotTell`.
pub fn judge(estimate: &Estimate, criteria: &Criteria) -> Judgement {
    let (verdict, rule) = verdict(estimate, criteria);
    let more_blocks = match verdict {
        Verdict::CannotTell => missing_blocks(estimate, criteria),
        Verdict::Costs | Verdict::Gains | Verdict::NoCost => None,
    };
    Judgement {
        verdict,
        rule,
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

fn verdict(estimate: &Estimate, criteria: &Criteria) -> (Verdict, Rule) {
    let Some(floor) = criteria.floor else {
        return (Verdict::CannotTell, Rule::NoFloor);
    };
    let half_width = estimate.spread().half_width();
    // On the side of cost, whichever way the metric goes.
    let cost = match criteria.direction {
        Direction::HigherCosts => estimate.log_mean,
        Direction::LowerCosts => -estimate.log_mean,
    };
    let is_beyond_noise = cost.abs() > half_width && cost.abs() > floor;
    let is_significant = criteria.adjusted_p_value <= SIGNIFICANCE;
    match (is_beyond_noise, is_significant, cost > 0.0) {
        (true, true, true) => (Verdict::Costs, Rule::BeyondFloor),
        (true, true, false) => (Verdict::Gains, Rule::BeyondFloor),
        (true, false, true) => (Verdict::CannotTell, Rule::ManyComparisons),
        _ if cost + half_width >= criteria.effective_margin() => match cost.abs() > half_width {
            true => (Verdict::CannotTell, Rule::WithinFloor),
            false => (Verdict::CannotTell, Rule::IntervalTooWide),
        },
        _ if criteria.margin > 0.0 && floor > WIDEST_FLOOR * criteria.margin => {
            (Verdict::CannotTell, Rule::FloorTooWide)
        }
        _ => (Verdict::NoCost, Rule::WithinMargin),
    }
}

/// Judges again what more blocks would show: the same effect, with the noise of estimate and floor falling as
/// the square root of the number of blocks.
fn missing_blocks(estimate: &Estimate, criteria: &Criteria) -> Option<u32> {
    let spread = estimate.spread();
    let needed = first_block_count(estimate.blocks + 1, |blocks| {
        let projected = spread.projected_to(blocks);
        let criteria = criteria.projected(&spread, &projected);
        verdict(&Estimate::from(projected), &criteria).0 != Verdict::CannotTell
    });
    needed.map(|blocks| blocks - estimate.blocks)
}

impl Criteria {
    fn effective_margin(&self) -> f64 {
        self.margin.max(self.floor.unwrap_or(0.0))
    }

    fn projected(&self, now: &Spread, then: &Spread) -> Self {
        // What Holm multiplied the p-value by stays. Where it was cut off at 1 this is less than the truth: a
        // hopeful forecast.
        let multiplier = (self.adjusted_p_value / now.p_value()).max(1.0);
        Self {
            floor: self.floor.map(|floor| floor * (now.blocks / then.blocks).sqrt()),
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
            floor: Some(floor),
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
            floor: Some(0.01),
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
            floor: Some(0.02),
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
        assert_eq!(noise_floor(&estimate(-0.03, 0.001)), 0.03);
        let vague = estimate(0.001, 0.01);
        assert_eq!(noise_floor(&vague), vague.spread().half_width());
    }

    #[test]
    fn a_loss_of_most_of_the_throughput_counts_under_a_floor_of_almost_a_factor_of_two() {
        // A fall to a fifteenth, −93 %, is 2.7 on the logarithmic scale; a floor of +95 % is 0.67 there.
        let fall = estimate(-2.7, 0.1);
        assert!((fall.change + 0.933).abs() < 0.001);
        let floor = 0.952_f64.ln_1p();
        let judgement = judged(&fall, Direction::LowerCosts, floor, 0.06);
        assert_eq!(judgement.verdict, Verdict::Costs);
        // A floor above 100 % is still one that a larger change exceeds, and a smaller one does not.
        let above = 1.5_f64.ln_1p();
        assert_eq!(
            judged(&fall, Direction::LowerCosts, above, 0.06).verdict,
            Verdict::Costs
        );
        let halved = estimate(-0.69, 0.05);
        assert_eq!(
            judged(&halved, Direction::LowerCosts, above, 0.06),
            Judgement {
                verdict: Verdict::CannotTell,
                rule: Rule::FloorTooWide,
                margin: above,
                more_blocks: judged(&halved, Direction::LowerCosts, above, 0.06).more_blocks,
            }
        );
    }

    #[test]
    fn a_fall_and_a_rise_by_the_same_factor_are_judged_alike() {
        for log in [0.05, 0.4, 1.2, 2.5] {
            let rise = judged(&estimate(log, 0.02), Direction::HigherCosts, 0.3, 0.02);
            let fall = judged(&estimate(-log, 0.02), Direction::LowerCosts, 0.3, 0.02);
            assert_eq!(rise, fall, "{log}");
        }
    }

    #[test]
    fn a_cost_beyond_the_floor_that_is_not_significant_is_never_no_cost_whatever_the_margin() {
        let fall = estimate(-0.155, 0.045);
        assert!(fall.excludes_zero());
        let criteria = Criteria {
            direction: Direction::LowerCosts,
            floor: Some(0.056),
            margin: 0.5,
            adjusted_p_value: 0.2,
        };
        let judgement = judge(&fall, &criteria);
        assert_eq!(
            (judgement.verdict, judgement.rule),
            (Verdict::CannotTell, Rule::ManyComparisons)
        );
        // The same on the side of gain excludes any cost.
        let rise = Criteria {
            direction: Direction::HigherCosts,
            ..criteria
        };
        assert_eq!(judge(&fall, &rise).verdict, Verdict::NoCost);
    }

    #[test]
    fn every_undecided_estimate_says_why() {
        let rule = |log, error, floor, margin| {
            judged(&estimate(log, error), Direction::HigherCosts, floor, margin).rule
        };
        assert_eq!(rule(0.01, 0.02, 0.01, 0.02), Rule::IntervalTooWide);
        assert_eq!(rule(0.03, 0.01, 0.04, 0.04), Rule::WithinFloor);
        assert_eq!(rule(0.03, 0.01, 0.2, 0.02), Rule::FloorTooWide);
        let no_floor = Criteria {
            direction: Direction::HigherCosts,
            floor: None,
            margin: 0.02,
            adjusted_p_value: 0.0,
        };
        let judgement = judge(&estimate(0.5, 0.01), &no_floor);
        assert_eq!(
            (judgement.verdict, judgement.rule, judgement.margin),
            (Verdict::CannotTell, Rule::NoFloor, 0.02)
        );
        assert_eq!(judgement.more_blocks, None);
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
