//! 95 % means 95 %: simulations of the real design. Seeded, so they give the same figures each time; the tables of
//! docs/methodology-statistics.md come from the same code with more repetitions, and `test_all` holds them to it.

use crate::simulation::{
    Noise, Outcome, SimulatedCell, at_fixed_blocks, at_the_stop, churn_coverage, difference_coverage,
    family_of_variants, half_width_after, owed_coverage, percentile_coverage,
};
use ciphertax_stats::verdict::{SIGNIFICANCE, benjamini_hochberg, holm};

const REPETITIONS: u64 = 4_000;

/// Two standard errors of a share of 5 % over that many repetitions: 0.7 percentage points.
fn simulation_error(repetitions: u64) -> f64 {
    2.0 * (0.05 * 0.95 / repetitions as f64).sqrt()
}

#[test]
fn with_a_fixed_number_of_blocks_the_interval_covers_the_truth_93_to_98_percent_of_the_time() {
    for noise in Noise::CALIBRATED {
        for blocks in [10, 20, 40] {
            let coverage = at_fixed_blocks(noise, blocks, REPETITIONS).coverage();
            let is_near = (0.93..=0.98).contains(&coverage);
            assert!(is_near, "{noise:?}, {blocks} blocks: {coverage}");
        }
    }
}

/// Of a lag-one correlation alone it would be 52 % with ρ = 0.95 and 250 blocks, 53 % with 760.
#[test]
fn where_the_true_ratio_wanders_slowly_long_runs_know_it_and_short_ones_cannot() {
    let covers = |noise, blocks, least: f64| {
        let coverage = at_fixed_blocks(noise, blocks, 1_000).coverage();
        assert!(coverage >= least, "{noise:?}, {blocks} blocks: {coverage}");
    };
    for (rho, least) in [(0.3, 0.95), (0.8, 0.92), (0.95, 0.78)] {
        covers(Noise::WanderingEffect { rho }, 250, least);
    }
    for (rho, least) in [(0.3, 0.95), (0.8, 0.93), (0.95, 0.89)] {
        covers(Noise::WanderingEffect { rho }, 760, least);
    }
    // 10, 40 and 120 s of blocks of two seconds: once there is a whole wave it is known.
    for (period, blocks) in [
        (5.0, 12),
        (5.0, 40),
        (20.0, 20),
        (20.0, 65),
        (60.0, 65),
        (60.0, 250),
    ] {
        covers(Noise::WavingEffect { period }, blocks, 0.95);
    }
}

/// Half of a family of eight variants costs something, half nothing, and all share both baselines. Without a noise floor, which keeps
/// more from being called a cost than the family does.
#[test]
fn of_what_is_called_a_cost_at_most_5_percent_is_none_and_more_is_found_than_by_holm() {
    for noise in [
        Noise::Independent,
        Noise::Autocorrelated { rho: 0.7 },
        Noise::RareStalls,
    ] {
        let of =
            |adjust: fn(&[f64]) -> Vec<f64>, floor| family_of_variants(noise, 0.03, floor, adjust, 1_000);
        let [hochberg, by_holm, alone] =
            [benjamini_hochberg, holm, <[f64]>::to_vec].map(|adjust| of(adjust, false));
        let found = format!("{noise:?}: {hochberg:?}, Holm {by_holm:?}, each alone {alone:?}");
        assert!(hochberg.false_discoveries <= SIGNIFICANCE, "{found}");
        let holds = alone.false_discoveries > 1.3 * hochberg.false_discoveries;
        assert!(holds, "{found}");
        assert!(hochberg.power > by_holm.power + 0.02, "{found}");
        let with_floor = of(benjamini_hochberg, true);
        assert!(with_floor.false_discoveries <= SIGNIFICANCE, "{with_floor:?}");
        println!("{found}, with the floor {with_floor:?}");
    }
}

#[test]
fn holm_keeps_any_false_alarm_in_the_family_at_5_percent() {
    for noise in [
        Noise::Independent,
        Noise::Autocorrelated { rho: 0.7 },
        Noise::RegimeSwitching,
    ] {
        // Three cells of two variants, which share their baseline.
        let any = |adjust: fn(&[f64]) -> Vec<f64>| {
            let families = (0..REPETITIONS).filter(|family| {
                let p_values: Vec<f64> = (0..3)
                    .map(|cell| SimulatedCell::measure(noise, 20, 3 * family + cell))
                    .flat_map(|cell| [0, 1].map(|variant| cell.compared(variant).estimate.p_value))
                    .collect();
                adjust(&p_values).iter().any(|p| *p <= SIGNIFICANCE)
            });
            families.count() as f64 / REPETITIONS as f64
        };
        let adjusted = any(holm);
        let is_bounded = adjusted <= SIGNIFICANCE + simulation_error(REPETITIONS);
        assert!(is_bounded, "{noise:?}: {adjusted}");
        let unadjusted = any(<[f64]>::to_vec);
        assert!(
            unadjusted > 2.0 * SIGNIFICANCE,
            "{noise:?}: the family is too small to test anything: {unadjusted}"
        );
    }
}

#[test]
fn intervals_of_the_churn_model_cover_the_truth() {
    for (connect_blocks, query_blocks) in [(12, 12), (12, 40)] {
        let coverage = churn_coverage(connect_blocks, query_blocks, REPETITIONS);
        let is_near = (0.93..=0.98).contains(&coverage);
        assert!(is_near, "{connect_blocks} and {query_blocks} blocks: {coverage}");
    }
}

#[test]
fn what_is_paid_later_is_no_cost_and_the_mean_of_the_log_ratios_would_take_it_for_a_gain() {
    for pays in [[0.9, 0.9], [0.9, 0.3], [1.0, 0.25]] {
        for blocks in [12, 20, 40] {
            let (coverage, by_blocks) = owed_coverage(pays, blocks, REPETITIONS);
            // What is put off in one round is paid in another: the sum is steadier than independent rounds would be.
            assert!(coverage >= 0.93, "{pays:?}, {blocks} blocks: {coverage}");
            assert!(pays[0] == pays[1] || by_blocks < -0.03, "{pays:?}: {by_blocks}");
        }
    }
}

#[test]
fn differences_in_microseconds_cover_the_truth_for_small_changes_and_large() {
    for factor in [0.9, 1.02, 1.2, 3.0, 12.0] {
        for blocks in [5, 12, 40] {
            let coverage = difference_coverage(factor, blocks, REPETITIONS);
            // Two uncertainties of five blocks each, both with Student's wide quantile, are put together too cautiously.
            let most = match blocks {
                5 => 0.99,
                12 => 0.985,
                _ => 0.98,
            };
            let is_near = (0.93..=most).contains(&coverage);
            assert!(is_near, "{factor}, {blocks} blocks: {coverage}");
        }
    }
}

mod test_all {
    use std::sync::LazyLock;

    use super::*;

    /// Runs that the rule stopped, all with one kind of noise and one target.
    #[derive(Debug)]
    struct Stop {
        noise: Noise,
        /// The target is the half-width that the noise reaches after about so many blocks.
        expected_blocks: usize,
        outcome: Outcome,
    }

    static STOPS: LazyLock<Vec<Stop>> = LazyLock::new(|| {
        let noises = Noise::CALIBRATED.into_iter().chain(Noise::HEAVY);
        let stop = |noise, expected_blocks| Stop {
            noise,
            expected_blocks,
            outcome: at_the_stop(noise, half_width_after(noise, expected_blocks), REPETITIONS),
        };
        noises
            .flat_map(|noise| [14, 20, 40].map(|blocks| stop(noise, blocks)))
            .collect()
    });

    fn stops_of(noises: &[Noise]) -> impl Iterator<Item = &'static Stop> {
        STOPS.iter().filter(|stop| noises.contains(&stop.noise))
    }

    #[test]
    fn stopping_early_raises_no_more_than_5_percent_false_alarms() {
        for stop in STOPS.iter() {
            let bare = 1.0 - stop.outcome.coverage();
            let is_bounded = bare <= SIGNIFICANCE + simulation_error(REPETITIONS);
            assert!(is_bounded, "{stop:?}: intervals without zero: {bare}");
            let verdicts = stop.outcome.false_verdicts();
            assert!(verdicts <= SIGNIFICANCE, "{stop:?}: false verdicts: {verdicts}");
        }
    }

    #[test]
    fn the_rule_stops_early_where_the_target_is_wide_and_late_where_it_is_narrow() {
        for stop in stops_of(&Noise::CALIBRATED) {
            let expected = stop.expected_blocks as f64;
            let blocks = stop.outcome.mean_blocks();
            let is_near = (0.9 * expected..1.3 * expected).contains(&blocks);
            assert!(is_near, "{stop:?}: {blocks}");
        }
    }

    #[test]
    fn large_disturbances_never_make_the_interval_too_narrow_and_hardly_too_wide() {
        let allowed = 0.95 - simulation_error(REPETITIONS)..=0.98;
        for noise in Noise::HEAVY {
            for blocks in [10, 20, 40] {
                let coverage = at_fixed_blocks(noise, blocks, REPETITIONS).coverage();
                let is_allowed = allowed.contains(&coverage);
                assert!(is_allowed, "{noise:?}, {blocks} blocks: {coverage}");
            }
        }
        for stop in stops_of(&Noise::HEAVY) {
            let coverage = stop.outcome.coverage();
            assert!(allowed.contains(&coverage), "{stop:?}: {coverage}");
        }
    }

    #[test]
    fn stopped_by_the_rule_the_interval_covers_the_truth_93_to_97_percent_of_the_time() {
        for stop in stops_of(&Noise::CALIBRATED) {
            let coverage = stop.outcome.coverage();
            assert!((0.93..=0.97).contains(&coverage), "{stop:?}: {coverage}");
        }
    }

    #[test]
    fn intervals_of_latency_percentiles_cover_the_truth() {
        let repetitions = 600;
        for quantile in [0.50, 0.95, 0.99] {
            let coverage = percentile_coverage(quantile, 20, 300, repetitions);
            let allowed = 0.93 - simulation_error(repetitions)..=0.97 + simulation_error(repetitions);
            assert!(allowed.contains(&coverage), "p{}: {coverage}", 100.0 * quantile);
        }
    }

    /// Where it fails, it says the row as it should be.
    #[test]
    fn the_tables_of_the_document_are_what_these_simulations_give() {
        const REPETITIONS: u64 = 20_000;
        let percent = |fraction: f64| format!("{:.1}", 100.0 * fraction);
        let row = |shares: &[f64]| {
            shares
                .iter()
                .map(|share| percent(*share))
                .collect::<Vec<_>>()
                .join(" | ")
        };
        let mut wrong = Vec::new();
        let mut hold = |row: String| {
            let document = include_str!("../../../docs/methodology-statistics.md");
            if !document.lines().any(|line| line.ends_with(&format!("| {row} |"))) {
                wrong.push(row);
            }
        };
        let noises = Noise::CALIBRATED.into_iter().chain(Noise::HEAVY);
        for noise in noises.chain([Noise::WanderingEffect { rho: 0.3 }]) {
            let fixed = [10, 20, 40].map(|blocks| at_fixed_blocks(noise, blocks, REPETITIONS));
            let stopped =
                [14, 20, 40].map(|blocks| at_the_stop(noise, half_width_after(noise, blocks), REPETITIONS));
            let worst = fixed.iter().chain(&stopped).map(Outcome::false_verdicts);
            let worst = percent(worst.fold(0.0, f64::max));
            let fixed = row(&fixed.map(|outcome| outcome.coverage()));
            let stopped = stopped
                .map(|outcome| format!("{} ({:.0})", percent(outcome.coverage()), outcome.mean_blocks()));
            hold(format!("{fixed} | {} | {worst}", stopped.join(" | ")));
        }
        for quantile in [0.50, 0.95, 0.99] {
            let coverage =
                [12, 20, 40].map(|blocks| percentile_coverage(quantile, blocks, 1_000, REPETITIONS / 10));
            hold(format!("p{:.0} | {}", 100.0 * quantile, row(&coverage)));
        }
        let churn = [(12, 12), (12, 40), (40, 40)];
        let coverage = churn.map(|(connects, queries)| churn_coverage(connects, queries, REPETITIONS));
        hold(row(&coverage));
        for factor in [1.02, 1.2, 3.0, 12.0] {
            let coverage = [5, 12, 40].map(|blocks| difference_coverage(factor, blocks, REPETITIONS));
            hold(format!("{factor} | {}", row(&coverage)));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
