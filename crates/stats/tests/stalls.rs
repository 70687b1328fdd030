//! What is noise and what is a cost: disturbances of the machine do not move an estimate, those that one arm alone has count in
//! full. Seeded, so that the figures are the same each time.

use crate::simulation::{Noise, SimulatedCell};
use ciphertax_stats::{Compared, Location};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const REPETITIONS: u64 = 2_000;
const ALL_ARMS: [usize; 4] = [0, 1, 2, 3];
/// The first variant's number among all arms.
const VARIANT: usize = 2;

/// What many repetitions came to.
#[derive(Debug, Default)]
struct Outcome {
    /// Share of those that report the mean.
    by_mean: f64,
    /// Mean error of all, as a fraction.
    bias: f64,
    /// Mean error of those that report the robust location.
    bias_of_robust: f64,
    /// Mean error of the plain mean.
    bias_of_mean: f64,
    /// Share of intervals that hold the truth.
    coverage: f64,
}

/// Measures so many blocks again and again; `disturb` adds what the noise has not, and the truth is a log-ratio.
fn outcome(
    noise: Noise,
    blocks: usize,
    truth: f64,
    disturb: impl Fn(&mut SimulatedCell, &mut Pcg64),
) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut robust, mut errors_of_robust) = (0.0_f64, 0.0);
    for seed in 0..REPETITIONS {
        let mut cell = SimulatedCell::measure(noise, blocks, seed);
        disturb(&mut cell, &mut Pcg64::seed_from_u64(seed + 1_000_000));
        let Compared {
            estimate, location, ..
        } = cell.compared(0);
        let error = estimate.log_mean - truth;
        outcome.bias += error;
        outcome.bias_of_mean += cell.mean().log_mean - truth;
        let covers = estimate.low.ln_1p() <= truth && truth <= estimate.high.ln_1p();
        outcome.coverage += f64::from(u8::from(covers));
        match location {
            Location::Mean => outcome.by_mean += 1.0,
            Location::Robust => {
                robust += 1.0;
                errors_of_robust += error;
            }
        }
    }
    let all = REPETITIONS as f64;
    Outcome {
        by_mean: outcome.by_mean / all,
        bias: outcome.bias / all,
        bias_of_robust: errors_of_robust / robust.max(1.0),
        bias_of_mean: outcome.bias_of_mean / all,
        coverage: outcome.coverage / all,
    }
}

/// Stalls of an arm: in such a share of its slices, of exponential size, so long on average.
fn stall(cell: &mut SimulatedCell, arm: usize, share: f64, size: f64, random: &mut Pcg64) {
    cell.add(arm, || {
        let is_stalled = random.random_bool(share);
        let stall = -size * (1.0 - random.random::<f64>()).ln();
        if is_stalled { stall } else { 0.0 }
    });
}

#[test]
fn stalls_of_one_arm_alone_are_found_and_reported_in_full() {
    // Stalls of a quarter in such a share of the variant's slices; in so many runs they must be found.
    for (share, blocks, found_in) in [
        (0.03, 160, 0.8),
        (0.05, 80, 0.7),
        (0.05, 160, 0.95),
        (0.1, 40, 0.7),
        (0.1, 80, 0.95),
    ] {
        let found = outcome(Noise::Independent, blocks, 0.25 * share, |cell, random| {
            cell.add(VARIANT, || if random.random_bool(share) { 0.25 } else { 0.0 });
        });
        println!(
            "{:.0} % in {blocks} blocks: by the mean {:.1} %, too little by {:.2} % on average, coverage {:.1} %",
            100.0 * share,
            100.0 * found.by_mean,
            -100.0 * found.bias,
            100.0 * found.coverage
        );
        assert!(found.by_mean >= found_in, "{share}, {blocks} blocks: {found:?}");
        if found_in >= 0.95 {
            let is_sound = found.coverage >= 0.93 && found.bias.abs() <= 0.001;
            assert!(is_sound, "{share}, {blocks} blocks: {found:?}");
        }
    }
}

#[test]
fn a_variant_with_two_speeds_costs_their_mean() {
    // A tenth more in so many of the blocks, whose noise is 1 to 3 %: far apart, or hardly to be told from each other.
    for (share, shrink) in [(0.5, 1.0), (0.4, 0.3), (0.3, 0.3)] {
        for blocks in [20, 40, 80] {
            let found = outcome(Noise::Independent, blocks, 0.1 * share, |cell, random| {
                cell.shrink(shrink);
                cell.add(VARIANT, || if random.random_bool(share) { 0.1 } else { 0.0 });
            });
            println!(
                "{share} of {blocks} blocks, {shrink}: coverage {:.1} %, bias {:.2} %, by the mean {:.1} %",
                100.0 * found.coverage,
                100.0 * found.bias,
                100.0 * found.by_mean
            );
            assert!(found.coverage >= 0.93, "{share}, {blocks} blocks: {found:?}");
            assert!(found.bias.abs() <= 0.002, "{share}, {blocks} blocks: {found:?}");
        }
    }
}

#[test]
fn a_server_that_is_slower_in_one_operation_of_a_hundred_is_measured_in_full() {
    // Six times as long in 1 % of the operations is 5 % in all. Slices of 500 and 2,000 operations have 5 and 20 such.
    let truth = 1.05_f64.ln();
    for (slow, blocks) in [(5.0, 20), (5.0, 80), (20.0, 20), (20.0, 80)] {
        let found = outcome(Noise::Independent, blocks, truth, |cell, random| {
            cell.add(VARIANT, || (1.0 + 0.05 * poisson(slow, random) / slow).ln());
        });
        println!(
            "{slow} slow operations a slice, {blocks} blocks: bias {:.2} %, coverage {:.1} %, by the mean {:.1} %",
            100.0 * found.bias,
            100.0 * found.coverage,
            100.0 * found.by_mean
        );
        assert!(found.bias.abs() <= 0.001, "{slow}, {blocks} blocks: {found:?}");
        assert!(found.coverage >= 0.94, "{slow}, {blocks} blocks: {found:?}");
    }
}

#[test]
fn a_machine_that_disturbs_one_arm_more_moves_the_estimate_by_at_most_two_tenths_of_a_percent() {
    for blocks in [20, 40, 80] {
        // Slices of the variant are disturbed half as often again, or half as long again.
        for (often, long) in [(1.5, 1.0), (1.0, 1.5)] {
            let found = outcome(Noise::Independent, blocks, 0.0, |cell, random| {
                for arm in ALL_ARMS {
                    let (often, long) = if arm >= VARIANT { (often, long) } else { (1.0, 1.0) };
                    stall(cell, arm, 0.05 * often, 0.2 * long, random);
                }
            });
            println!(
                "{often} as often, {long} as long, {blocks} blocks: bias {:.2} %, with those by the mean {:.2} %, of the mean \
                 {:.2} %; coverage {:.1} %, by the mean {:.1} %",
                100.0 * found.bias_of_robust,
                100.0 * found.bias,
                100.0 * found.bias_of_mean,
                100.0 * found.coverage,
                100.0 * found.by_mean
            );
            let is_small = found.bias_of_robust.abs() <= 0.002;
            assert!(is_small, "{often}, {long}, {blocks} blocks: {found:?}");
            let is_smaller = found.bias.abs() < 0.7 * found.bias_of_mean;
            assert!(is_smaller, "{often}, {long}, {blocks} blocks: {found:?}");
        }
    }
}

/// Knuth 1969: how many exponential waits fit into one.
fn poisson(mean: f64, random: &mut Pcg64) -> f64 {
    let limit = (-mean).exp();
    let mut product: f64 = random.random();
    let mut events = 0.0;
    while product > limit {
        product *= random.random::<f64>();
        events += 1.0;
    }
    events
}

mod test_all {
    use super::*;

    #[test]
    fn noise_that_is_alike_in_all_arms_is_taken_for_a_cost_in_at_most_5_percent_on_either_side() {
        for noise in Noise::CALIBRATED.into_iter().chain(Noise::HEAVY) {
            for blocks in [20, 80] {
                let found = outcome(noise, blocks, 0.0, |_, _| {});
                println!(
                    "{noise:?}, {blocks} blocks: by the mean {:.1} %",
                    100.0 * found.by_mean
                );
                assert!(found.by_mean <= 0.1, "{noise:?}, {blocks} blocks: {found:?}");
            }
        }
    }
}
