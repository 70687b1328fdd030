//! Prints the tables of docs/methodology-statistics.md: what "95 %" comes to in simulations.
//!
//! `cargo run --release -p ciphertax-stats --example coverage`

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::{
    Noise, Outcome, at_fixed_blocks, at_the_stop, churn_coverage, difference_coverage, half_width_after,
    owed_coverage, percentile_coverage,
};

const REPETITIONS: u64 = 20_000;

fn main() {
    println!(
        "Means: share of 95 % intervals that contain the truth, in %, and the mean number of blocks at the stop.\n"
    );
    println!(
        "| noise | 10 blocks | 20 blocks | 40 blocks | early stop | middle stop | late stop | false verdicts |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let noises = Noise::CALIBRATED
        .into_iter()
        .chain(Noise::HEAVY)
        .chain([Noise::WanderingEffect]);
    for noise in noises {
        let fixed = [10, 20, 40].map(|blocks| at_fixed_blocks(noise, blocks, REPETITIONS));
        let stopped =
            [14, 20, 40].map(|blocks| at_the_stop(noise, half_width_after(noise, blocks), REPETITIONS));
        let worst = fixed
            .iter()
            .chain(&stopped)
            .map(Outcome::false_verdicts)
            .fold(0.0, f64::max);
        println!(
            "| {noise:?} | {} | {} | {} |",
            fixed.map(|outcome| percent(outcome.coverage())).join(" | "),
            stopped
                .map(|outcome| format!("{} ({:.0})", percent(outcome.coverage()), outcome.mean_blocks()))
                .join(" | "),
            percent(worst),
        );
    }
    println!("\nLatency percentiles: share of 95 % intervals that contain the truth, in %.\n");
    println!("| percentile | 12 blocks | 20 blocks | 40 blocks |\n|---|---|---|---|");
    for quantile in [0.50, 0.95, 0.99] {
        let coverages =
            [12, 20, 40].map(|blocks| percentile_coverage(quantile, blocks, 1_000, REPETITIONS / 10));
        println!(
            "| p{:.0} | {} |",
            100.0 * quantile,
            coverages.map(percent).join(" | ")
        );
    }
    println!(
        "\nChurn overhead, from blocks of connects and blocks of queries: share of 95 % intervals that contain the truth, in %.\n"
    );
    println!("| 12 + 12 blocks | 12 + 40 blocks | 40 + 40 blocks |\n|---|---|---|");
    let coverages = [(12, 12), (12, 40), (40, 40)]
        .map(|(connects, queries)| churn_coverage(connects, queries, REPETITIONS));
    println!("| {} |", coverages.map(percent).join(" | "));
    println!("\nDifferences in µs: share of 95 % intervals that contain the truth, in %.\n");
    println!("| variant / baseline | 5 blocks | 12 blocks | 40 blocks |\n|---|---|---|---|");
    for factor in [1.02, 1.2, 3.0, 12.0] {
        let coverages = [5, 12, 40].map(|blocks| difference_coverage(factor, blocks, REPETITIONS));
        println!("| {factor} | {} |", coverages.map(percent).join(" | "));
    }
    println!(
        "\nWhat is paid later, where nothing differs but how often it is paid: share of 95 % intervals that contain the truth, \
         and the mean of the log-ratios, in %.\n"
    );
    println!(
        "| paid in a round with probability | 12 rounds | 20 rounds | 40 rounds | log-ratios |\n|---|---|---|---|---|"
    );
    for pays in [[0.9, 0.9], [0.9, 0.3], [1.0, 0.25]] {
        let found = [12, 20, 40].map(|blocks| owed_coverage(pays, blocks, REPETITIONS));
        println!(
            "| {} and {} | {} | {} |",
            pays[0],
            pays[1],
            found.map(|(coverage, _)| percent(coverage)).join(" | "),
            percent(found[2].1)
        );
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.1}", 100.0 * fraction)
}
