//! What must hold for any series and any number of arms.

use ciphertax_stats::{BalancedOrder, Estimate, MeanEstimate};
use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Positive block values of both arms, over six orders of magnitude.
fn paired_values() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec((1e-3..1e3_f64, 1e-3..1e3_f64), 2..60).prop_map(|pairs| pairs.into_iter().unzip())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #[test]
    fn swapping_the_arms_negates_the_log_mean_and_keeps_the_uncertainty((baseline, variant) in paired_values()) {
        let forth = Estimate::of_pairs(&baseline, &variant).unwrap();
        let back = Estimate::of_pairs(&variant, &baseline).unwrap();
        prop_assert!(close(forth.log_mean, -back.log_mean));
        prop_assert!(close(forth.standard_error, back.standard_error));
        prop_assert!(close(forth.p_value, back.p_value));
        // A lower bound near −1 keeps only the digits that 1 + low has left; the upper bound multiplies what is lost.
        let lost = 4.0 * f64::EPSILON * (1.0 + back.high);
        prop_assert!(((1.0 + forth.low) * (1.0 + back.high) - 1.0).abs() <= 1e-9 + lost);
    }

    #[test]
    fn the_unit_does_not_matter((baseline, variant) in paired_values(), unit in 1e-6..1e6_f64) {
        let scaled = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value * unit).collect() };
        let one = Estimate::of_pairs(&baseline, &variant).unwrap();
        let other = Estimate::of_pairs(&scaled(&baseline), &scaled(&variant)).unwrap();
        prop_assert!(close(one.log_mean, other.log_mean));
        prop_assert!(close(one.standard_error, other.standard_error));
    }

    #[test]
    fn a_factor_on_the_variant_moves_the_estimate_by_it((baseline, variant) in paired_values(), factor in 0.1..10.0_f64) {
        let slower: Vec<f64> = variant.iter().map(|value| value * factor).collect();
        let before = Estimate::of_pairs(&baseline, &variant).unwrap();
        let after = Estimate::of_pairs(&baseline, &slower).unwrap();
        prop_assert!(close(after.log_mean, before.log_mean + factor.ln()));
        prop_assert!(close(after.standard_error, before.standard_error));
    }

    #[test]
    fn the_interval_contains_the_estimate((baseline, variant) in paired_values()) {
        let estimate = Estimate::of_pairs(&baseline, &variant).unwrap();
        prop_assert!(estimate.low <= estimate.change && estimate.change <= estimate.high);
        prop_assert!(estimate.low >= -1.0);
    }

    #[test]
    fn the_interval_excludes_zero_exactly_if_the_p_value_is_small((baseline, variant) in paired_values()) {
        let estimate = Estimate::of_pairs(&baseline, &variant).unwrap();
        prop_assume!((estimate.p_value - 0.05).abs() > 1e-6);
        prop_assert_eq!(estimate.excludes_zero(), estimate.p_value < 0.05);
    }

    #[test]
    fn the_interval_is_never_narrower_than_that_of_independent_blocks((baseline, variant) in paired_values()) {
        let ratios = ciphertax_stats::paired::log_ratios(&baseline, &variant).unwrap();
        let estimate = MeanEstimate::of(&ratios).unwrap();
        let n = ratios.len() as f64;
        let variance = ratios.iter().map(|x| (x - estimate.mean).powi(2)).sum::<f64>() / (n - 1.0);
        let quantile = StudentsT::new(0.0, 1.0, n - 1.0).unwrap().inverse_cdf(0.975);
        prop_assert!(estimate.high - estimate.mean >= quantile * (variance / n).sqrt() * (1.0 - 1e-9));
        prop_assert!(estimate.degrees_of_freedom <= n - 1.0);
    }

    #[test]
    fn repeating_the_same_blocks_never_widens_the_interval_much(
        series in prop::collection::vec(-1.0..1.0_f64, 12..40),
        repeats in 2..4_usize,
    ) {
        let once = MeanEstimate::of(&series).unwrap();
        let again = MeanEstimate::of(&series.repeat(repeats)).unwrap();
        // The correlation is known better with more blocks and may come out a little larger; hence not
        // strictly narrower.
        prop_assert!(again.high - again.low <= 1.1 * (once.high - once.low));
    }

    #[test]
    fn every_arm_takes_every_position_once_in_a_square(arms in 1..9_usize, seed: u64, square in 0..5_usize) {
        let blocks: Vec<Vec<usize>> = BalancedOrder::new(arms, seed).skip(square * arms).take(arms).collect();
        for position in 0..arms {
            let mut seen: Vec<usize> = blocks.iter().map(|block| block[position]).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..arms).collect::<Vec<_>>());
        }
        for block in blocks {
            let mut seen = block;
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..arms).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_arm_follows_every_other_equally_often(arms in 2..9_usize, seed: u64) {
        let squares = if arms % 2 == 0 { 1 } else { 2 };
        let mut followed = vec![vec![0; arms]; arms];
        for block in BalancedOrder::new(arms, seed).take(squares * arms) {
            for pair in block.windows(2) {
                followed[pair[0]][pair[1]] += 1;
            }
        }
        for (first, row) in followed.iter().enumerate() {
            for (second, &times) in row.iter().enumerate() {
                prop_assert_eq!(times, if first == second { 0 } else { squares });
            }
        }
    }

    #[test]
    fn no_arm_follows_itself_from_block_to_block(arms in 3..9_usize, seed: u64) {
        let blocks: Vec<Vec<usize>> = BalancedOrder::new(arms, seed).take(6 * arms).collect();
        for pair in blocks.windows(2) {
            prop_assert_ne!(pair[0].last(), pair[1].first());
        }
    }

    #[test]
    fn the_seed_decides_the_order(arms in 3..9_usize, seed: u64) {
        // Of three arms few orders are balanced, so that a short one is the same for some pairs of seeds.
        let order = |seed| BalancedOrder::new(arms, seed).take(40 * arms).collect::<Vec<_>>();
        prop_assert_eq!(order(seed), order(seed));
        prop_assert_ne!(order(seed), order(seed.wrapping_add(1)));
    }
}

#[test]
fn over_seeds_either_order_of_two_arms_is_equally_likely_in_every_block() {
    let seeds = 4_000;
    for block in [0, 1, 5] {
        let first_before_third = (0..seeds)
            .filter(|&seed| {
                let order = BalancedOrder::new(4, seed).nth(block).unwrap();
                order.iter().position(|&arm| arm == 0) < order.iter().position(|&arm| arm == 2)
            })
            .count();
        let share = first_before_third as f64 / seeds as f64;
        // Four standard errors of a fair coin.
        let is_even = (share - 0.5).abs() < 4.0 * 0.5 / (seeds as f64).sqrt();
        assert!(is_even, "block {block}: {share}");
    }
}
