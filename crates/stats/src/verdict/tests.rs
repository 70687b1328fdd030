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
fn what_excludes_zero_is_never_no_cost_whatever_floor_margin_and_family() {
    use Verdict::{CannotTell, Costs, CostsPerhaps, Gains, GainsPerhaps};
    let small = estimate(0.010, 0.001);
    for (floor, adjusted_p_value, expected, rule) in [
        (0.005, 0.01, [Costs, Gains], Rule::BeyondFloor),
        (0.02, 0.01, [CannotTell, GainsPerhaps], Rule::WithinFloor),
        (0.005, 0.06, [CostsPerhaps, GainsPerhaps], Rule::ManyComparisons),
        (0.02, 0.06, [CannotTell, GainsPerhaps], Rule::WithinFloor),
    ] {
        for margin in [0.0, 0.02, 0.5] {
            for (direction, expected) in [Direction::HigherCosts, Direction::LowerCosts]
                .into_iter()
                .zip(expected)
            {
                let criteria = Criteria {
                    direction,
                    floor: Some(floor),
                    margin,
                    adjusted_p_value,
                };
                let judgement = judge(&small, &criteria);
                assert_eq!((judgement.verdict, judgement.rule), (expected, rule));
            }
        }
    }
}

/// −11.5 % [−15.4, −7.4] under a noise floor of 17.9 %, seen in a trial, was called no cost: the noisier the machine, the more it
/// acquitted.
#[test]
fn a_gain_is_never_no_cost_because_the_machine_is_noisy() {
    let gain = estimate(0.885_f64.ln(), 0.0218);
    assert!((gain.high + 0.074).abs() < 0.001, "{gain:?}");
    let found = judged(&gain, Direction::HigherCosts, 0.179_f64.ln_1p(), 0.06);
    let seen = (found.verdict, found.rule);
    assert_eq!(seen, (Verdict::GainsPerhaps, Rule::WithinFloor));
    // One that holds zero is no cost by the study's own margin alone.
    let flat = estimate(-0.01, 0.01);
    let found = |floor| judged(&flat, Direction::HigherCosts, floor, 0.06);
    assert_eq!(found(0.05).verdict, Verdict::NoCost);
    let noisy = found(0.07);
    let seen = (noisy.verdict, noisy.rule);
    assert_eq!(seen, (Verdict::CannotTell, Rule::FloorTooWide));
    assert!(noisy.more_blocks.is_some());
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
    let halved = judged(&estimate(-0.69, 0.05), Direction::LowerCosts, above, 0.06);
    let seen = (halved.verdict, halved.rule);
    assert_eq!(seen, (Verdict::CannotTell, Rule::WithinFloor));
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
fn every_undecided_estimate_says_why() {
    let rule =
        |log, error, floor, margin| judged(&estimate(log, error), Direction::HigherCosts, floor, margin).rule;
    assert_eq!(rule(0.01, 0.02, 0.01, 0.02), Rule::IntervalTooWide);
    assert_eq!(rule(0.03, 0.01, 0.04, 0.04), Rule::WithinFloor);
    assert_eq!(rule(0.001, 0.005, 0.2, 0.02), Rule::FloorTooWide);
    let no_floor = Criteria {
        direction: Direction::HigherCosts,
        floor: None,
        margin: 0.02,
        adjusted_p_value: 0.0,
    };
    let judgement = judge(&estimate(0.5, 0.01), &no_floor);
    let found = (judgement.verdict, judgement.rule);
    assert_eq!(found, (Verdict::CannotTell, Rule::NoFloor));
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

#[test]
fn benjamini_and_hochberg_divide_by_the_rank() {
    // Their example of 15 p-values: of these, the four smallest are significant, where Holm finds three (1995, section 4.1).
    let p_values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
        0.6528, 0.7590, 1.0,
    ];
    let significant = |adjusted: Vec<f64>| adjusted.iter().filter(|p| **p <= SIGNIFICANCE).count();
    assert_eq!(significant(benjamini_hochberg(&p_values)), 4);
    assert_eq!(significant(holm(&p_values)), 3);
    let shuffled = benjamini_hochberg(&[0.6, 0.01, 0.03, 0.02]);
    for (got, want) in shuffled.iter().zip([0.6, 0.04, 0.04, 0.04]) {
        assert!((got - want).abs() < 1e-12, "{shuffled:?}");
    }
    assert!(benjamini_hochberg(&[]).is_empty());
}
