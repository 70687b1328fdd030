//! The real design on made-up noise: slices of four arms in balanced random order, blocks, log-ratios,
//! intervals.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "used by tests and by the example that prints their table, each of which needs a part of it"
)]

use ciphertax_base::Direction;
use ciphertax_stats::Verdict;
use ciphertax_stats::both_baselines::{Compared, compare};
use ciphertax_stats::difference;
use ciphertax_stats::jackknife::interval_of;
use ciphertax_stats::percentile::{LatencyBlocks, LatencySurvey, percentile_change};
use ciphertax_stats::stopping::{MINIMUM_BLOCKS, Target, is_precise};
use ciphertax_stats::totals::{self, Taken};
use ciphertax_stats::verdict::{Criteria, judge};
use ciphertax_stats::{BalancedOrder, Estimate, LogRatio};
use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const ARMS: usize = 4;
const BASELINE: usize = 0;
const BASELINE_AGAIN: usize = 1;
/// The first of two.
const VARIANT: usize = 2;

/// Runs give up here, as they do when their time is spent.
const MOST_BLOCKS: usize = 80;

/// What disturbs the logarithm of a slice's metric. Slices last half a second, so a block takes two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Independent and Gaussian, 3 %.
    Independent,
    /// The same on a trend of 30 % over 40 blocks and a wave of ±5 % with a period of 18 s.
    Drifting,
    /// First-order autoregressive from slice to slice, 5 %, with a little measuring error.
    Autocorrelated {
        /// Correlation of neighbouring slices.
        rho: f64,
    },
    /// Two states 10 % apart that last 3 s on average, as thread placement on two cores does, and 2 % of
    /// independent noise.
    RegimeSwitching,
    /// Slowdowns of exponential size, 5 % on average, and 2 % of Gaussian noise: never faster than
    /// undisturbed.
    Skewed,
    /// Student's t with three degrees of freedom: outliers on both sides.
    HeavyTailed,
    /// One slice in ten is slower, by 20 % on average; else 2 %.
    RareStalls,
    /// Gaussian, 3 %, and of one slice in ten 15 %.
    Contaminated,
    /// Independent noise, and the true ratio itself wanders by 4 % from block to block. No order of arms can protect from this.
    WanderingEffect {
        /// Correlation of neighbouring blocks.
        rho: f64,
    },
    /// Independent noise, and the true ratio itself swings by 4 %.
    WavingEffect {
        /// Blocks from crest to crest.
        period: f64,
    },
}

impl Noise {
    /// The kinds for which 95 % means 93 to 97 %.
    pub(crate) const CALIBRATED: [Self; 5] = [
        Self::Independent,
        Self::Drifting,
        Self::Autocorrelated { rho: 0.5 },
        Self::Autocorrelated { rho: 0.7 },
        Self::Autocorrelated { rho: 0.9 },
    ];

    /// The kinds that are not Gaussian by far, for which 95 % means no less, and with few blocks some points more.
    pub(crate) const HEAVY: [Self; 5] = [
        Self::RegimeSwitching,
        Self::Skewed,
        Self::HeavyTailed,
        Self::RareStalls,
        Self::Contaminated,
    ];

    /// Log-metric of consecutive slices, without any effect.
    fn slices(self, count: usize, random: &mut Pcg64) -> Vec<f64> {
        let phase = std::f64::consts::TAU * random.random::<f64>();
        let mut state = gaussian(random);
        let mut is_slow = random.random::<bool>();
        (0..count)
            .map(|slice| match self {
                Self::Independent | Self::WanderingEffect { .. } | Self::WavingEffect { .. } => {
                    0.03 * gaussian(random)
                }
                Self::Drifting => {
                    let time = slice as f64;
                    let wave = (std::f64::consts::TAU * time / 36.0 + phase).sin();
                    0.30 * time / 160.0 + 0.05 * wave + 0.03 * gaussian(random)
                }
                Self::Autocorrelated { rho } => {
                    state = rho * state + (1.0 - rho * rho).sqrt() * gaussian(random);
                    0.05 * state + 0.005 * gaussian(random)
                }
                Self::RegimeSwitching => {
                    is_slow ^= random.random_bool(1.0 / 6.0);
                    0.10 * f64::from(u8::from(is_slow)) + 0.02 * gaussian(random)
                }
                Self::Skewed => 0.02 * gaussian(random) + 0.05 * exponential(random),
                Self::HeavyTailed => {
                    let chi_square: f64 = (0..3).map(|_| gaussian(random).powi(2)).sum();
                    0.02 * gaussian(random) / (chi_square / 3.0).sqrt()
                }
                Self::RareStalls => {
                    let is_stalled = random.random_bool(0.1);
                    let stall = 0.2 * exponential(random);
                    0.02 * gaussian(random) + if is_stalled { stall } else { 0.0 }
                }
                Self::Contaminated => {
                    let deviation = if random.random_bool(0.1) { 0.15 } else { 0.03 };
                    deviation * gaussian(random)
                }
            })
            .collect()
    }

    /// How much the true log-ratio of each block differs from its mean.
    fn effect_deviations(self, blocks: usize, random: &mut Pcg64) -> Vec<f64> {
        let mut state = gaussian(random);
        let phase: f64 = random.random();
        let deviation = |block: usize| match self {
            Self::WanderingEffect { rho } => {
                state = rho * state + (1.0 - rho * rho).sqrt() * gaussian(random);
                0.04 * state
            }
            Self::WavingEffect { period } => {
                let turns = phase + block as f64 / period;
                0.04 * 2.0_f64.sqrt() * (std::f64::consts::TAU * turns).sin()
            }
            _ => 0.0,
        };
        (0..blocks).map(deviation).collect()
    }
}

/// The logarithms of all arms, block by block.
pub(crate) struct SimulatedCell {
    /// Baseline, baseline again, and two variants, whose errors are correlated because they share both baselines.
    blocks: Vec<[f64; ARMS]>,
}

impl SimulatedCell {
    /// Measures a cell in which no variant has an effect. An effect would shift log-ratios and nothing else.
    pub(crate) fn measure(noise: Noise, blocks: usize, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let slices = noise.slices(blocks * ARMS, &mut random);
        let deviations = noise.effect_deviations(blocks, &mut random);
        let order = BalancedOrder::new(ARMS, random.random());
        let in_blocks = order.zip(slices.chunks_exact(ARMS)).zip(deviations);
        let block = |((order, slices), deviation): ((Vec<usize>, &[f64]), f64)| {
            let mut by_arm = [0.0; ARMS];
            for (&arm, slice) in order.iter().zip(slices) {
                by_arm[arm] = *slice;
            }
            by_arm[VARIANT..].iter_mut().for_each(|log| *log += deviation);
            by_arm
        };
        Self {
            blocks: in_blocks.map(block).collect(),
        }
    }

    /// Makes the noise smaller.
    pub(crate) fn shrink(&mut self, factor: f64) {
        self.blocks.iter_mut().flatten().for_each(|log| *log *= factor);
    }

    /// Adds something to the slices of an arm, by block.
    pub(crate) fn add(&mut self, arm: usize, mut more: impl FnMut() -> f64) {
        self.blocks.iter_mut().for_each(|block| block[arm] += more());
    }

    /// The baseline again against the baseline.
    pub(crate) fn baseline_again(&self) -> Estimate {
        let series: Vec<f64> = self
            .blocks
            .iter()
            .map(|block| block[BASELINE_AGAIN] - block[BASELINE])
            .collect();
        Estimate::robust_of_log_ratios(&series).unwrap()
    }

    /// A variant, 0 or 1, against both baselines.
    pub(crate) fn compared(&self, variant: usize) -> Compared {
        let row = |block: &[f64; ARMS]| [block[BASELINE], block[BASELINE_AGAIN], block[VARIANT + variant]];
        compare(
            &self.blocks.iter().map(row).collect::<Vec<_>>(),
            Direction::HigherCosts,
        )
        .unwrap()
    }

    /// The mean of the log-ratios of the first variant to the one baseline.
    pub(crate) fn mean(&self) -> Estimate {
        let series: Vec<f64> = self
            .blocks
            .iter()
            .map(|block| block[VARIANT] - block[BASELINE])
            .collect();
        Estimate::of_log_ratios(&series).unwrap()
    }

    /// Its first blocks.
    fn first(&self, blocks: usize) -> Self {
        Self {
            blocks: self.blocks[..blocks].to_vec(),
        }
    }
}

/// What many repetitions of a measurement came to where nothing changed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Outcome {
    repetitions: f64,
    covered: f64,
    false_verdicts: f64,
    blocks: f64,
    half_widths: f64,
}

impl Outcome {
    /// Share of intervals that contain the truth; the rest are false alarms of the bare interval.
    pub(crate) fn coverage(&self) -> f64 {
        self.covered / self.repetitions
    }

    /// Share of `Costs` and `Gains`, which are all false alarms.
    pub(crate) fn false_verdicts(&self) -> f64 {
        self.false_verdicts / self.repetitions
    }

    /// Mean number of blocks.
    pub(crate) fn mean_blocks(&self) -> f64 {
        self.blocks / self.repetitions
    }

    /// Mean half-width on the logarithmic scale.
    fn mean_half_width(&self) -> f64 {
        self.half_widths / self.repetitions
    }

    fn add(&mut self, cell: &SimulatedCell) {
        let estimate = cell.compared(0).estimate;
        let baseline_again = cell.baseline_again();
        let criteria = Criteria {
            direction: Direction::HigherCosts,
            floor: Some(LogRatio::from(&baseline_again).noise_floor()),
            // Whatever is not a false alarm is then "no cost", which needs no forecast of missing blocks.
            margin: f64::INFINITY,
            adjusted_p_value: estimate.p_value,
        };
        let verdict = judge(&estimate, &criteria).verdict;
        self.repetitions += 1.0;
        self.covered += share(!estimate.excludes_zero());
        self.false_verdicts += share(matches!(verdict, Verdict::Costs | Verdict::Gains));
        self.blocks += cell.blocks.len() as f64;
        self.half_widths += (estimate.high.ln_1p() - estimate.low.ln_1p()) / 2.0;
    }
}

/// Measures cells for a fixed number of blocks.
pub(crate) fn at_fixed_blocks(noise: Noise, blocks: usize, repetitions: u64) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in 0..repetitions {
        outcome.add(&SimulatedCell::measure(noise, blocks, seed));
    }
    outcome
}

/// What a family of verdicts is worth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FamilyOutcome {
    /// Mean share of what costs nothing among what was called a cost or a gain.
    pub(crate) false_discoveries: f64,
    /// Mean share of what costs something that was called a cost.
    pub(crate) power: f64,
}

/// Families of eight variants against the same two baselines, after 30 blocks; every other costs `effect`, the others nothing.
pub(crate) fn family_of_variants(
    noise: Noise,
    effect: f64,
    has_floor: bool,
    adjust: impl Fn(&[f64]) -> Vec<f64>,
    repetitions: u64,
) -> FamilyOutcome {
    const PAIRS: u64 = 4;
    let mut outcome = FamilyOutcome {
        false_discoveries: 0.0,
        power: 0.0,
    };
    for family in 0..repetitions {
        // The baselines are those of the first cell, the variants those of several.
        let cells: Vec<SimulatedCell> = (0..PAIRS)
            .map(|pair| SimulatedCell::measure(noise, 30, family * PAIRS + pair))
            .collect();
        let floor = match has_floor {
            true => LogRatio::from(&cells[0].baseline_again()).noise_floor(),
            false => 0.0,
        };
        let row = |cell: &SimulatedCell, arm: usize| -> Estimate {
            let costs = if arm == VARIANT { effect } else { 0.0 };
            let blocks = cell.blocks.iter().zip(&cells[0].blocks);
            let rows: Vec<[f64; 3]> = blocks
                .map(|(own, first)| [first[BASELINE], first[BASELINE_AGAIN], own[arm] + costs])
                .collect();
            compare(&rows, Direction::HigherCosts).unwrap().estimate
        };
        let estimates: Vec<(bool, Estimate)> = cells
            .iter()
            .flat_map(|cell| [(true, row(cell, VARIANT)), (false, row(cell, VARIANT + 1))])
            .collect();
        let p_values: Vec<f64> = estimates.iter().map(|(_, estimate)| estimate.p_value).collect();
        let called = estimates
            .iter()
            .zip(adjust(&p_values))
            .filter(|((_, estimate), p_value)| {
                let criteria = Criteria {
                    direction: Direction::HigherCosts,
                    floor: Some(floor),
                    margin: f64::INFINITY,
                    adjusted_p_value: *p_value,
                };
                judge(estimate, &criteria).verdict.is_decided_difference()
            });
        let (right, wrong): (Vec<_>, Vec<_>) = called.partition(|((costs, _), _)| *costs);
        let all = (right.len() + wrong.len()).max(1) as f64;
        outcome.false_discoveries += wrong.len() as f64 / all / repetitions as f64;
        outcome.power += right.len() as f64 / PAIRS as f64 / repetitions as f64;
    }
    outcome
}

/// Measures cells until the stopping rule, asked after every block, is satisfied with the repeated baseline
/// and one variant: the fewest rows a cell can have, where stopping favours each of them the most.
pub(crate) fn at_the_stop(noise: Noise, half_width: f64, repetitions: u64) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in 0..repetitions {
        outcome.add(&stopped(noise, half_width, seed));
    }
    outcome
}

/// A cell that the stopping rule has stopped.
pub(crate) fn stopped(noise: Noise, half_width: f64, seed: u64) -> SimulatedCell {
    let cell = SimulatedCell::measure(noise, MOST_BLOCKS, seed);
    let so_far = (MINIMUM_BLOCKS as usize..MOST_BLOCKS).map(|blocks| cell.first(blocks));
    let is_stopped = |so_far: &SimulatedCell| {
        let again = Target::of_baseline_again(Some(so_far.baseline_again()), half_width);
        is_precise(&[again])
            && is_precise(&[Target::of_variant(Some(so_far.compared(0).estimate), half_width)])
    };
    so_far.into_iter().find(is_stopped).unwrap_or(cell)
}

/// The half-width that this noise reaches after about so many blocks.
pub(crate) fn half_width_after(noise: Noise, blocks: usize) -> f64 {
    at_fixed_blocks(noise, blocks, 200).mean_half_width().exp_m1()
}

/// Share of the intervals of a latency percentile that contain the truth: blocks of `operations` log-normal
/// latencies an arm, on slices that switch between regimes, and a variant that is 5 % slower throughout.
pub(crate) fn percentile_coverage(quantile: f64, blocks: usize, operations: usize, repetitions: u64) -> f64 {
    let slower = 1.05_f64;
    let covered = (0..repetitions).map(|seed| {
        let mut random = Pcg64::seed_from_u64(seed);
        let slices = Noise::RegimeSwitching.slices(2 * blocks, &mut random);
        let mut arms = [Vec::with_capacity(blocks), Vec::with_capacity(blocks)];
        for (order, slices) in BalancedOrder::new(2, seed).zip(slices.chunks_exact(2)) {
            for (&arm, slice) in order.iter().zip(slices) {
                let median = 2e5 * slice.exp() * if arm == 1 { slower } else { 1.0 };
                arms[arm].push(log_normal_latencies(median, operations, &mut random));
            }
        }
        let [baseline, variant] = arms.map(|histograms| table(&histograms, quantile));
        let estimate = percentile_change(&baseline, &variant, seed).unwrap();
        share(estimate.low <= slower - 1.0 && slower - 1.0 <= estimate.high)
    });
    covered.sum::<f64>() / repetitions as f64
}

fn log_normal_latencies(median: f64, operations: usize, random: &mut Pcg64) -> Histogram<u64> {
    let mut histogram = ciphertax_stats::histogram::empty();
    for _ in 0..operations {
        let latency = median * (0.3 * gaussian(random)).exp();
        histogram.record(latency as u64).unwrap();
    }
    histogram
}

/// Share of the intervals of a churn overhead, at ten queries a connection, that contain the truth: CPU of
/// connects and of queries from two cells, with noise that the arms of a block share and noise of their own.
pub(crate) fn churn_coverage(connect_blocks: usize, query_blocks: usize, repetitions: u64) -> f64 {
    let (connect, query) = ([100.0, 300.0], [20.0, 23.0]);
    let overhead = |c: &[f64; 2], q: &[f64; 2]| (c[1] + 10.0 * q[1]) / (c[0] + 10.0 * q[0]) - 1.0;
    let truth = overhead(&connect, &query);
    let covered = (0..repetitions).map(|seed| {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut cell = |means: [f64; 2], blocks: usize| -> Vec<[f64; 2]> {
            let mut block = || {
                let shared = 0.10 * gaussian(&mut random);
                means.map(|mean| mean * (1.0 + shared + 0.05 * gaussian(&mut random)))
            };
            (0..blocks).map(|_| block()).collect()
        };
        let (connects, queries) = (cell(connect, connect_blocks), cell(query, query_blocks));
        let interval = interval_of(&connects, &queries, overhead).unwrap();
        share(interval.low <= truth && truth <= interval.high)
    });
    covered.sum::<f64>() / repetitions as f64
}

/// Share of the intervals of a difference in µs that contain the truth: a baseline of 20 µs whose speed drifts with the
/// machine's, and a variant that takes `factor` as much.
pub(crate) fn difference_coverage(factor: f64, blocks: usize, repetitions: u64) -> f64 {
    let baseline_us = 20.0_f64;
    let truth = baseline_us * (factor - 1.0);
    let covered = (0..repetitions).map(|seed| {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut logs = |mean: f64, noise: f64| -> Vec<f64> {
            (0..blocks)
                .map(|_| mean + noise * gaussian(&mut random))
                .collect()
        };
        let baseline = logs(baseline_us.ln(), 0.06);
        let ratio = Estimate::of_log_ratios(&logs(factor.ln(), 0.03)).unwrap();
        let level = (baseline.iter().sum::<f64>() / blocks as f64).exp();
        let interval = difference(level, &baseline, &ratio).unwrap();
        share(interval.low <= truth && truth <= interval.high)
    });
    covered.sum::<f64>() / repetitions as f64
}

/// How often the interval of a metric of rounds covers the truth, and how large the mean of the blocks' log-ratios is, where
/// nothing differs but when it is paid: in each round either arm works for 10 and owes 5 more, and pays all it owes with a
/// probability of its own.
pub(crate) fn owed_coverage(pays: [f64; 2], blocks: usize, repetitions: u64) -> (f64, f64) {
    const ROUNDS_BEFORE: usize = 60;
    let (mut covered, mut by_blocks) = (0.0, 0.0);
    for seed in 0..repetitions {
        let mut random = Pcg64::seed_from_u64(seed);
        let [baseline, variant] = pays.map(|pays| {
            let mut owed = 0.0;
            let mut round = || {
                owed += 5.0 * (0.03 * gaussian(&mut random)).exp();
                let paid = match random.random::<f64>() < pays {
                    true => std::mem::take(&mut owed),
                    false => 0.0,
                };
                Taken {
                    amount: 10.0 * (0.03 * gaussian(&mut random)).exp() + paid,
                    operations: 1.0,
                }
            };
            let rounds = (0..ROUNDS_BEFORE + blocks).map(|_| round());
            rounds.skip(ROUNDS_BEFORE).collect::<Vec<Taken>>()
        });
        let logs = [&baseline, &variant].map(|arm| totals::logs(arm).unwrap());
        let series: Vec<f64> = logs[1].iter().zip(&logs[0]).map(|(v, b)| v - b).collect();
        let estimate = Estimate::of_log_ratios(&series).unwrap();
        covered += share(!estimate.excludes_zero());
        let amounts = |arm: &[Taken]| arm.iter().map(|block| block.amount).collect::<Vec<f64>>();
        let naive = Estimate::of_pairs(&amounts(&baseline), &amounts(&variant)).unwrap();
        by_blocks += naive.log_mean;
    }
    (covered / repetitions as f64, by_blocks / repetitions as f64)
}

fn share(happened: bool) -> f64 {
    f64::from(u8::from(happened))
}

/// Box and Muller 1958.
fn gaussian(random: &mut Pcg64) -> f64 {
    let radius = (2.0 * exponential(random)).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

fn exponential(random: &mut Pcg64) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

/// Both looks at the blocks of an arm.
fn table(blocks: &[Histogram<u64>], quantile: f64) -> LatencyBlocks {
    let mut survey = LatencySurvey::new(&[quantile]);
    blocks.iter().for_each(|block| survey.add(&block.into()).unwrap());
    let mut table = survey.table(quantile, blocks.len()).unwrap();
    blocks.iter().for_each(|block| table.add(&block.into()).unwrap());
    table
}
