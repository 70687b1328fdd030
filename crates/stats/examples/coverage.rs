//! Prints the tables of docs/methodology-statistics.md: what "95 %" comes to in simulations.
//!
//! `cargo run --release -p ciphertax-stats --example coverage`

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use std::fmt::Display;

use simulation::{
    Noise, Outcome, at_fixed_blocks, at_the_stop, churn_coverage, difference_coverage, half_width_after,
    owed_coverage, percentile_coverage,
};

const REPETITIONS: u64 = 20_000;
const CONTAINS: &str = "share of 95 % intervals that contain the truth";

fn main() {
    println!("Means: {CONTAINS}, in %, and the mean number of blocks at the stop.\n");
    heads(
        "noise | 10 blocks | 20 blocks | 40 blocks | early stop | middle stop | late stop | false verdicts",
    );
    let noises = Noise::CALIBRATED.into_iter().chain(Noise::HEAVY);
    for noise in noises.chain([Noise::WanderingEffect]) {
        let fixed = [10, 20, 40].map(|blocks| at_fixed_blocks(noise, blocks, REPETITIONS));
        let stopped =
            [14, 20, 40].map(|blocks| at_the_stop(noise, half_width_after(noise, blocks), REPETITIONS));
        let all = fixed.iter().chain(&stopped);
        let worst = all.map(Outcome::false_verdicts).fold(0.0, f64::max);
        let at_stop = |outcome: Outcome| {
            let coverage = percent(outcome.coverage());
            format!("{coverage} ({:.0})", outcome.mean_blocks())
        };
        let fixed = fixed.map(|outcome| percent(outcome.coverage())).join(" | ");
        let stopped = stopped.map(at_stop).join(" | ");
        println!("| {noise:?} | {fixed} | {stopped} | {} |", percent(worst));
    }
    println!("\nLatency percentiles: {CONTAINS}, in %.\n");
    heads("percentile | 12 blocks | 20 blocks | 40 blocks");
    for quantile in [0.50, 0.95, 0.99] {
        let coverage = |blocks| percentile_coverage(quantile, blocks, 1_000, REPETITIONS / 10);
        row(format!("p{:.0}", 100.0 * quantile), [12, 20, 40].map(coverage));
    }
    println!("\nChurn overhead, from blocks of connects and blocks of queries: {CONTAINS}, in %.\n");
    heads("12 + 12 blocks | 12 + 40 blocks | 40 + 40 blocks");
    let coverage = |(connects, queries)| percent(churn_coverage(connects, queries, REPETITIONS));
    println!("| {} |", [(12, 12), (12, 40), (40, 40)].map(coverage).join(" | "));
    println!("\nDifferences in µs: {CONTAINS}, in %.\n");
    heads("variant / baseline | 5 blocks | 12 blocks | 40 blocks");
    for factor in [1.02, 1.2, 3.0, 12.0] {
        row(
            factor,
            [5, 12, 40].map(|blocks| difference_coverage(factor, blocks, REPETITIONS)),
        );
    }
    println!(
        "\nWhat is paid later, where nothing differs but how often it is paid: {CONTAINS}, and the mean of the log-ratios, in %.\n"
    );
    heads("paid in a round with probability | 12 rounds | 20 rounds | 40 rounds | log-ratios");
    for pays in [[0.9, 0.9], [0.9, 0.3], [1.0, 0.25]] {
        let [few, more, many] = [12, 20, 40].map(|blocks| owed_coverage(pays, blocks, REPETITIONS));
        row(
            format!("{} and {}", pays[0], pays[1]),
            [few.0, more.0, many.0, many.1],
        );
    }
}

fn heads(heads: &str) {
    println!("| {heads} |\n|{}", "---|".repeat(heads.split(" | ").count()));
}

fn row<const N: usize>(first: impl Display, shares: [f64; N]) {
    println!("| {first} | {} |", shares.map(percent).join(" | "));
}

fn percent(fraction: f64) -> String {
    format!("{:.1}", 100.0 * fraction)
}
