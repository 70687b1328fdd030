//! Change points in histories of runs whose truth is known: how often there is a false alarm, and how often a shift is found.
//! Seeded, so the figures are the same each time; docs/methodology-statistics.md has them with more repetitions.

use ciphertax_stats::change_points::{Change, Series, change_points, smallest_shift};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const REPETITIONS: u64 = 600;
const SHIFTED: u64 = 200;

/// How the figures of runs scatter from run to run.
#[derive(Debug, Clone, Copy)]
enum Scatter {
    Normal,
    /// Student's t with three degrees of freedom: outliers on both sides.
    HeavyTailed,
    /// Never below, sometimes far above.
    Skewed,
    /// One run in ten is far off.
    BadNights,
}

const SCATTERS: [Scatter; 4] = [
    Scatter::Normal,
    Scatter::HeavyTailed,
    Scatter::Skewed,
    Scatter::BadNights,
];

impl Scatter {
    /// With a standard deviation of about one.
    fn draw(self, random: &mut Pcg64) -> f64 {
        match self {
            Self::Normal => gaussian(random),
            Self::HeavyTailed => {
                let chi_square: f64 = (0..3).map(|_| gaussian(random).powi(2)).sum();
                gaussian(random) / chi_square.sqrt()
            }
            Self::Skewed => -(1.0 - random.random::<f64>()).ln(),
            Self::BadNights => {
                let far_off = if random.random_bool(0.1) { 2.6 } else { 0.0 };
                0.6 * gaussian(random) + far_off
            }
        }
    }
}

fn gaussian(random: &mut Pcg64) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// A history of several figures, half of whose scatter they have in common: what slows a run slows all of it.
fn history(scatter: Scatter, runs: usize, figures: usize, random: &mut Pcg64) -> Vec<Series> {
    let common: Vec<f64> = (0..runs).map(|_| scatter.draw(random)).collect();
    let half = 0.5_f64.sqrt();
    let mut value = |common: &f64| half * common + half * scatter.draw(random);
    (0..figures)
        .map(|_| Series {
            values: common.iter().map(&mut value).enumerate().collect(),
        })
        .collect()
}

/// The share of histories that come to something.
fn share(seed: u64, comes_to: impl Fn(&mut Pcg64) -> bool) -> f64 {
    let hits = (0..REPETITIONS).filter(|repetition| {
        let mut random = Pcg64::seed_from_u64(seed * 1_000_003 + repetition);
        comes_to(&mut random)
    });
    hits.count() as f64 / REPETITIONS as f64
}

/// Three standard errors of a share of 5 % in so many histories.
fn simulation_error(histories: u64) -> f64 {
    3.0 * (0.05 * 0.95 / histories as f64).sqrt()
}

#[test]
fn in_a_history_without_a_change_there_is_a_false_alarm_in_5_percent_at_most() {
    let (mut all, mut histories) = (0.0, 0);
    for (seed, scatter) in SCATTERS.into_iter().enumerate() {
        for (runs, figures) in [(8, 6), (20, 1), (20, 6), (40, 3)] {
            let alarms = share(seed as u64 * 100 + runs as u64 + figures as u64, |random| {
                let found = change_points(&history(scatter, runs, figures, random));
                found.iter().any(|changes| !changes.is_empty())
            });
            println!(
                "{scatter:?}, {runs} runs, {figures} figures: false alarms in {:.1} %",
                100.0 * alarms
            );
            assert!(
                alarms <= 0.05 + simulation_error(REPETITIONS),
                "{scatter:?}, {runs} runs, {figures} figures: {alarms}"
            );
            all += alarms;
            histories += 1;
        }
    }
    let mean = all / histories as f64;
    assert!(
        mean <= 0.05 + simulation_error(histories * REPETITIONS),
        "all together: {mean}"
    );
}

#[test]
fn a_shift_of_three_times_the_scatter_is_found_nine_times_in_ten_and_where_it_is() {
    for (seed, scatter) in SCATTERS.into_iter().enumerate() {
        for (runs, at) in [(20, 10), (20, 14), (40, 20)] {
            let (mut anywhere, mut near) = (0, 0);
            for repetition in 0..SHIFTED {
                let mut random =
                    Pcg64::seed_from_u64(7_000_000 + (seed as u64 * 100 + at as u64) * SHIFTED + repetition);
                let mut all = history(scatter, runs, 3, &mut random);
                shift(&mut all[1], at, 3.0);
                let changes = &change_points(&all)[1];
                anywhere += usize::from(!changes.is_empty());
                near += usize::from(changes.iter().any(|change: &Change| change.at.abs_diff(at) <= 1));
            }
            let [anywhere, near] = [anywhere, near].map(|hits| hits as f64 / SHIFTED as f64);
            println!(
                "{scatter:?}, {runs} runs, shifted at {at}: found in {:.1} %, within a run of it in {:.1} %",
                100.0 * anywhere,
                100.0 * near
            );
            assert!(
                anywhere >= 0.9,
                "{scatter:?}, {runs} runs, shifted at {at}: {anywhere}"
            );
            assert!(
                near >= 0.85,
                "{scatter:?}, {runs} runs, shifted at {at}: near it {near}"
            );
        }
    }
}

#[test]
fn the_smallest_shift_that_is_promised_to_be_found_nine_times_in_ten_is() {
    const HISTORIES: u64 = 100;
    for runs in [8, 12, 20, 40, 80] {
        let by = smallest_shift(runs, 1.0).unwrap();
        let found = (0..HISTORIES).filter(|repetition| {
            let mut random = Pcg64::seed_from_u64(11_000_000 + runs as u64 * HISTORIES + repetition);
            let mut all = history(Scatter::Normal, runs, 3, &mut random);
            shift(&mut all[1], runs / 2, by);
            !change_points(&all)[1].is_empty()
        });
        let found = found.count() as f64 / HISTORIES as f64;
        println!("{runs} runs, a shift of {by:.2}: found in {:.0} %", 100.0 * found);
        assert!((0.8..=1.0).contains(&found), "{runs} runs: {found}");
    }
    assert_eq!(smallest_shift(7, 1.0), None);
}

#[test]
fn beside_a_true_change_there_is_a_false_one_in_5_percent_of_histories_at_most() {
    for (seed, scatter) in SCATTERS.into_iter().enumerate() {
        let alarms = share(9_000 + seed as u64, |random| {
            let mut all = history(scatter, 32, 3, random);
            for series in &mut all {
                shift(series, 16, 8.0);
            }
            let found = change_points(&all);
            found.iter().any(|changes| changes.len() > 1)
        });
        println!(
            "{scatter:?}, beside a true change: false alarms in {:.1} %",
            100.0 * alarms
        );
        assert!(
            alarms <= 0.05 + simulation_error(REPETITIONS),
            "{scatter:?}: {alarms}"
        );
    }
}

fn shift(series: &mut Series, from: usize, by: f64) {
    for (run, value) in &mut series.values {
        *value += if *run >= from { by } else { 0.0 };
    }
}
