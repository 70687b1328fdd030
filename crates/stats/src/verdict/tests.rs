//! What is held of verdicts.

use super::*;
use crate::paired::LogRatio;

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
    let found = judged(&rise, Direction::HigherCosts, 0.02, 0.0).verdict;
    assert_eq!(found, Verdict::Costs);
    let found = judged(&rise, Direction::LowerCosts, 0.02, 0.0).verdict;
    assert_eq!(found, Verdict::Gains);
    let fall = estimate(-0.10, 0.01);
    let found = judged(&fall, Direction::HigherCosts, 0.02, 0.0).verdict;
    assert_eq!(found, Verdict::Gains);
    let found = judged(&fall, Direction::LowerCosts, 0.02, 0.0).verdict;
    assert_eq!(found, Verdict::Costs);
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
    let found = judged(&flat, Direction::HigherCosts, 0.005, 0.02).verdict;
    assert_eq!(found, Verdict::NoCost);
    let found = judged(&flat, Direction::LowerCosts, 0.005, 0.02).verdict;
    assert_eq!(found, Verdict::NoCost);
    let found = judged(&flat, Direction::HigherCosts, 0.005, 0.01).verdict;
    assert_eq!(found, Verdict::CannotTell);
    let found = judged(&flat, Direction::LowerCosts, 0.005, 0.01).verdict;
    assert_eq!(found, Verdict::CannotTell);
}

#[test]
fn no_cost_is_not_said_of_a_floor_far_wider_than_the_margin() {
    let change = estimate(0.05, 0.005);
    let found = judged(&change, Direction::HigherCosts, 0.08, 0.03).verdict;
    assert_eq!(found, Verdict::NoCost);
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
    let found = (judgement.verdict, judgement.more_blocks);
    assert_eq!(found, (Verdict::CannotTell, None));
}

#[test]
fn the_noise_floor_is_the_larger_of_change_and_half_width() {
    assert_eq!(LogRatio::from(&estimate(-0.03, 0.001)).noise_floor(), 0.03);
    let vague = estimate(0.001, 0.01);
    assert_eq!(LogRatio::from(&vague).noise_floor(), vague.spread().half_width());
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
    let found = judged(&fall, Direction::LowerCosts, above, 0.06).verdict;
    assert_eq!(found, Verdict::Costs);
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
    let found = (judgement.verdict, judgement.rule);
    assert_eq!(found, (Verdict::CannotTell, Rule::ManyComparisons));
    // The same on the side of gain excludes any cost.
    let rise = Criteria {
        direction: Direction::HigherCosts,
        ..criteria
    };
    assert_eq!(judge(&fall, &rise).verdict, Verdict::NoCost);
}

#[test]
fn every_undecided_estimate_says_why() {
    let rule =
        |log, error, floor, margin| judged(&estimate(log, error), Direction::HigherCosts, floor, margin).rule;
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
    let found = (judgement.verdict, judgement.rule, judgement.margin);
    assert_eq!(found, (Verdict::CannotTell, Rule::NoFloor, 0.02));
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
