//! Paired log-ratios, intervals, the stopping rule and verdicts.
//!
//! A *series* holds one value a block, in the order the blocks were measured; blocks are the unit of
//! resampling. Nothing here knows of databases, files or clocks: numbers in, numbers out.
//!
//! | module or item | what it answers |
//! |---|---|
//! | [`order`] | in which order do the arms of a block run? |
//! | [`paired`] | what are the log-ratios of the blocks? |
//! | [`MeanEstimate`] | what is the mean of a series, and within which interval? |
//! | [`estimate`] | by how much does a variant differ from the baseline? |
//! | [`both_baselines`] | and where each block has the baseline twice? |
//! | [`location`] | what stands for all blocks? |
//! | [`disturbed`] | which arm was disturbed, and one more than the others? |
//! | [`difference()`] | by how much in the unit of the metric? |
//! | [`histogram`] | how are latencies kept? |
//! | [`latency_counts`] | how many latencies are in which bucket? |
//! | [`percentile`] | by how much does a percentile of the latency differ? |
//! | [`jackknife`] | what is the interval of a formula made of several means? |
//! | [`totals`] | what are they where a block takes now nothing, now twice as much? |
//! | [`stopping`] | is it precise enough, and if not, how many blocks are missing? |
//! | [`LogRatio`](paired::LogRatio) | what is the ratio of the ratios of two runs? |
//! | [`bound`] | does it stay within a bound, is it the same in two runs? |
//! | [`verdict`] | does it cost, does it not, or can it not be told? |

pub mod both_baselines;
pub mod bound;
pub mod disturbed;
pub mod error;
pub mod estimate;
pub mod histogram;
pub mod jackknife;
pub mod latency_counts;
pub mod location;
pub mod order;
pub mod paired;
pub mod percentile;
mod spread;
pub mod stopping;
pub mod totals;
pub mod verdict;

pub use both_baselines::Compared;
pub use bound::{BoundVerdict, CostVerdict};
pub use disturbed::DisturbedBlocks;
pub use error::StatsError;
pub use estimate::{Estimate, MeanEstimate};
pub use histogram::HistogramText;
pub use latency_counts::LatencyCounts;
pub use location::{FEWEST_BLOCKS, Location};
pub use order::{BalancedOrder, OneIn};
pub use paired::{DRIFT_BETWEEN_RUNS, LogRatio, difference};
pub use verdict::{Rule, Verdict};
