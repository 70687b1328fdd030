//! What is made of a run's samples: comparisons of arms, and all that follows from them.

use ciphertax_base::{Interval, Phase};
use ciphertax_model::Metric;
use ciphertax_stats::{DisturbedBlocks, Location, LogRatio, Rule, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::connection::{ConnectRow, PhaseRow};
use crate::consequences::{CapacityRow, ChurnRow, Finding, PublishedRow};
use crate::head::ServerId;
use crate::sample::VoidReason;
use crate::storage::StorageRow;
use crate::why::Why;

/// What follows from the head and the samples of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Seconds from the first slice to the last.
    pub elapsed_s: f64,
    /// What was found of every cell, in the study's order.
    pub cells: Vec<CellRecord>,
    /// The verdict in one sentence.
    pub verdict: String,
    /// What each arm measured, by itself.
    pub measurements: Vec<Measurement>,
    /// Each variant against the baseline.
    pub estimates: Vec<EstimateRow>,
    /// The baseline against itself.
    pub noise_floor: Vec<EstimateRow>,
    /// Each variant against the baseline for each kind of operation, in cells whose operations are of several kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_kind: Vec<KindRow>,
    /// How many operations of each kind every arm did, in cells whose operations are of several kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<KindRate>,
    /// Ratios block by block, so that a reader sees the noise.
    pub block_ratios: Vec<BlockRatios>,
    /// How fast each arm did its batches, in cells that have them.
    pub batches: Vec<BatchRow>,
    /// Where the time of a connect goes, by arm and phase.
    pub connect_phases: Vec<PhaseRow>,
    /// How the connects logged in, and whether they took up earlier TLS sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connects: Vec<ConnectRow>,
    /// Cost against queries per connection.
    pub churn: Vec<ChurnRow>,
    /// Cores needed for a feature at a rate.
    pub capacity: Vec<CapacityRow>,
    /// What every arm had in memory, and what it read and wrote of the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageRow>,
    /// Where the CPU time of each arm goes, what its sessions wait for, and what bounds it.
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    pub why: Why,
    /// Causes, suspicions and advice, each with what triggered it.
    pub findings: Vec<Finding>,
    /// Figures published elsewhere, beside what was measured.
    pub published: Vec<PublishedRow>,
    /// Slices that do not count, and why.
    pub void: Vec<VoidRow>,
}

impl Results {
    /// The metric that says most of what the server's side pays in a cell: over the whole round where that was measured.
    pub fn server_cpu(&self, cell: &str) -> Metric {
        let is_there = |metric: &Metric| {
            let mut rows = self.estimates.iter();
            rows.any(|row| row.cell == cell && row.metric == *metric)
        };
        let mut metrics = Metric::SERVER_CPU.into_iter();
        metrics.find(is_there).unwrap_or(Metric::ServerCpuPerOp)
    }

    /// What says most of what either side pays in a cell, the server first.
    pub fn cpu_of_both_sides(&self, cell: &str) -> [Metric; 2] {
        [self.server_cpu(cell), Metric::ClientCpuPerOp]
    }

    /// What a variant costs in a cell; `None` where too few blocks were measured.
    pub fn estimate(&self, cell: &str, arm: &str, metric: Metric) -> Option<&EstimateRow> {
        self.estimates
            .iter()
            .find(|row| row.cell == cell && row.arm == arm && row.metric == metric)
    }

    /// What an arm measured by itself in a cell.
    pub fn measured(&self, cell: &str, arm: &str, metric: Metric) -> Option<&Measurement> {
        let is_meant = |row: &&Measurement| row.cell == cell && row.arm == arm && row.metric == metric;
        self.measurements.iter().find(is_meant)
    }

    /// The phases of an arm's connects in a cell.
    pub fn phases(&self, cell: &str, arm: &str) -> impl Iterator<Item = &PhaseRow> {
        let rows = self.connect_phases.iter();
        rows.filter(move |row| row.cell == cell && row.arm == arm)
    }

    /// One of them.
    pub fn phase(&self, cell: &str, arm: &str, phase: Phase) -> Option<&PhaseRow> {
        self.phases(cell, arm).find(|row| row.phase == phase)
    }

    /// What an arm had in memory in a cell, and what it read and wrote of the rest.
    pub fn storage(&self, cell: &str, arm: &str) -> Option<&StorageRow> {
        self.storage.iter().find(|row| row.cell == cell && row.arm == arm)
    }
}

/// What was found of a cell. What was asked of it stands in the study, under the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellRecord {
    /// Its name in the study.
    pub name: String,
    /// The server it was measured on, that of the baseline.
    pub server_id: ServerId,
    /// Its name.
    pub server: String,
    /// Load threads; 0 where a program of the user's own was the load.
    pub workers: u32,
    /// How long its valid slices were on average, in seconds; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_s: Option<f64>,
    /// Blocks in which every arm is valid.
    pub blocks: u32,
    /// Slices that do not count.
    pub void_slices: u32,
    /// True if the load generator was the bottleneck: throughput and latency are then not the server's, and get no verdict.
    pub client_bound: bool,
    /// True if all target precisions were reached.
    pub precise: bool,
    /// Seconds of measuring still needed for the target precisions, at the noise seen; 0 when reached, absent when
    /// it cannot be told.
    pub more_time_s: Option<f64>,
    /// How quiet it was between the slices; absent where arms do not differ at rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsOfCell>,
}

/// How quiet it was between the slices of a cell whose arms have servers of their own because they differ at rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundsOfCell {
    /// Slices before which the other arms' servers were waited for.
    pub slices: u32,
    /// Those of them that began or ran while another server wrote or worked: it may have slowed them down. They count.
    pub disturbed: u32,
    /// How long was waited on average, in seconds.
    pub quiet_s: f64,
    /// Slices before which the kernel had to forget what it kept of the server's files, since they are more than its memory.
    pub dropped: u32,
}

/// What one arm measured in one cell, over all its valid slices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// What was measured.
    pub metric: Metric,
    /// Unit of `value`.
    pub unit: String,
    /// The value.
    pub value: f64,
}

/// One metric of one arm against the baseline in one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstimateRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// What is compared.
    pub metric: Metric,
    /// Unit of `baseline` and `variant`.
    pub unit: String,
    /// The baseline's value, of all its operations and those of the baseline again; of the baseline alone in percentiles and in the
    /// noise floor.
    pub baseline: f64,
    /// The variant's value.
    pub variant: f64,
    /// Ratio of the blocks less one, as a fraction: 0.05 is five percent more than the baseline.
    pub change: f64,
    /// Lower bound of the 95 % interval of `change`.
    pub low: f64,
    /// Upper bound of the 95 % interval of `change`.
    pub high: f64,
    /// The same in `unit`: variant less baseline, with its 95 % interval. Its sign is that of `change`.
    pub difference: Interval,
    /// Blocks the estimate rests on.
    pub blocks: u32,
    /// What follows.
    pub verdict: Verdict,
    /// Why the verdict is what it is.
    pub rule: Rule,
    /// The noise floor: the smallest change that the baseline against itself lets count, as a factor less one (0.05: a
    /// ratio of 1.05 or of 1/1.05). Absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// The cost that `no_cost` excludes, as a factor less one: twice the precision asked for.
    pub margin: f64,
    /// Probability of a difference this large if there were none, corrected for all comparisons of its family (Benjamini and
    /// Hochberg): CPU time; throughput and latency; bytes and counters.
    pub adjusted_p_value: f64,
    /// Seconds of measuring still needed to tell; only for what is not decided, and absent where even that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_time_s: Option<f64>,
    /// The logarithm of the ratio and its uncertainty, by which it is set beside that of another run.
    pub log_ratio: LogRatio,
    /// What stands for all blocks in `change`; absent of percentiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// In how many of the blocks which arm was slower by far than both others; absent where that was not looked for. `location` is
    /// the mean if the variant's number is beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<DisturbedBlocks>,
}

impl EstimateRow {
    /// The change with its interval, as fractions.
    pub fn interval(&self) -> Interval {
        Interval {
            value: self.change,
            low: self.low,
            high: self.high,
        }
    }
}

/// One metric of one kind of operation on one arm, against the baseline in one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindRow {
    /// The kind of operation, such as `read`.
    pub kind: String,
    /// The comparison.
    #[serde(flatten)]
    pub estimate: EstimateRow,
}

/// How many operations of one kind an arm did in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindRate {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// The kind of operation, such as `new_order`.
    pub kind: String,
    /// Operations that succeeded, over all slices that count.
    pub count: u64,
    /// The same per second of these slices' time.
    pub per_second: f64,
}

/// The ratios variant/baseline of each block, in the order they were measured; of a variant to the geometric mean of both
/// baselines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRatios {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm; the repeated baseline is among them.
    pub arm: String,
    /// What is compared.
    pub metric: Metric,
    /// The ratios; 1 is equality.
    pub ratios: Vec<f64>,
}

/// How fast one arm did the batches of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// Batches done.
    pub batches: u32,
    /// Arithmetic mean of the operations per second of each batch.
    pub mean: f64,
    /// Their standard deviation from batch to batch (n − 1); absent for a single one.
    pub standard_deviation: Option<f64>,
}

/// A slice that does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoidRow {
    /// Name of the cell.
    pub cell: String,
    /// Number of the block in its cell.
    pub block: u32,
    /// Name of the arm.
    pub arm: String,
    /// Why.
    pub reason: VoidReason,
}
