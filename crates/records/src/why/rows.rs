//! What is made of profiles and waits.

use ciphertax_base::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Complete, ProfiledSide};

/// Why the arms of a run cost what they do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Why {
    /// CPU time by category of code, in the order of the cells, then arms, sides, and largest difference first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<CategoryRow>,
    /// What the categories of a side add up to, beside what the meters read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<DifferenceOfSide>,
    /// The time of an operation by what its session did or waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateRow>,
    /// The time of an operation by what the server itself says that its session waited for: the state is the type of its wait event,
    /// the detail the event. PostgreSQL is asked for the events of sessions at work again and again; MongoDB sums up how long threads
    /// waited for each thing, in whatever number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wait_events: Vec<StateRow>,
    /// What bounds each arm in each cell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<BoundRow>,
    /// What looking cost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<LookCost>,
}

impl Why {
    /// True if nothing was looked into.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What bounds an arm in a cell.
    pub fn bound(&self, cell: &str, arm: &str) -> Option<&BoundRow> {
        self.bounds.iter().find(|row| row.cell == cell && row.arm == arm)
    }
}

/// The CPU time of an operation that one category of code takes, for the baseline and for a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CategoryRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the variant; the repeated baseline is among them.
    pub arm: String,
    /// Who took the time.
    pub side: ProfiledSide,
    /// The category, such as `TLS record: cipher`.
    pub category: String,
    /// What the baseline takes, in microseconds an operation.
    pub baseline_us: f64,
    /// What the variant takes.
    pub variant_us: f64,
    /// Variant less baseline in microseconds an operation, paired by block, with its 95 % interval; absent with too few blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Interval>,
    /// How far the baseline's difference from itself goes in this category, in microseconds: what lies within is noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_us: Option<f64>,
    /// True if the interval excludes zero and the difference is beyond the floor.
    pub is_significant: bool,
}

/// What a variant costs one side, by the meters and by the sum of its categories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceOfSide {
    /// Name of the cell.
    pub cell: String,
    /// Name of the variant; the repeated baseline is among them.
    pub arm: String,
    /// Whose time.
    pub side: ProfiledSide,
    /// Variant less baseline by the meters in the slices that were profiled, in microseconds an operation.
    pub measured: Option<Interval>,
    /// The same in all slices that were not, as the run's estimate has it; absent where there is none.
    pub estimated: Option<Interval>,
    /// Sum of the categories' differences.
    pub sum_us: f64,
    /// Blocks that the differences rest on.
    pub blocks: u32,
    /// Samples of both arms together.
    pub samples: u64,
    /// Share of the samples that were unwound to their end, as a fraction.
    pub complete: f64,
    /// Share of the samples that have a category, as a fraction.
    pub classified: f64,
    /// What the samples comprise.
    pub comprises: Complete,
}

/// The time of an operation that its session spends in one state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm, the baseline among them.
    pub arm: String,
    /// The state, such as `on CPU`, `runnable`, `log flush`, `network and client`.
    pub state: String,
    /// What is waited for there, where it is known, such as the name of a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Microseconds of an operation, by Little's law: sessions in the state, by the throughput; over all operations of the blocks
    /// that all arms have in common.
    pub us: f64,
    /// The arm's `us` less the baseline's, with its 95 % interval, paired by block; absent for the baseline and with too few blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Interval>,
}

/// What bounds the speed of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The load generator has no CPU left.
    ClientCpu,
    /// Other programs on the machine leave no CPU.
    OtherPrograms,
    /// The server has no CPU left.
    ServerCpu,
    /// The server has no CPU left, and uses much of it waiting for a lock.
    Spinning,
    /// Commits wait until the log is on the disk.
    LogFlush,
    /// Commits wait for other servers.
    Replication,
    /// Pages are read from the disk.
    DeviceReads,
    /// A lock, while a CPU is idle.
    Lock,
    /// The way to the server and back.
    RoundTrips,
    /// The rate that the study asks for.
    Schedule,
    /// Several of them.
    Mixed,
}

/// What bounds one arm in one cell, and what that rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm, the baseline among them.
    pub arm: String,
    /// What bounds it.
    pub bound: Bound,
    /// Which lock or which category of code, where the bound has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What that rests on, as sentences.
    pub evidence: Vec<String>,
    /// What follows for what the arm costs; absent for the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Whether the bound was tried by taking it away.
    pub confirmation: Confirmation,
}

/// Whether a bound that was named was taken away, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// Nobody tried.
    #[default]
    NotTried,
    /// Without it the arm is faster.
    Confirmed,
    /// Without it the arm is no faster.
    Refuted,
    /// The time was too short to tell.
    CannotTell,
}

/// How a slice is looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// What threads wait for.
    Waits,
    /// That, and which code uses CPU time.
    Full,
}

/// What looking into slices cost: the server's CPU time an operation in blocks that were looked into, against that of blocks
/// that were not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookCost {
    /// Name of the cell.
    pub cell: String,
    /// How it was looked.
    pub look: Look,
    /// Change of the server's CPU time an operation as a fraction, with its 95 % interval, all arms together; absent with too
    /// few blocks.
    pub server_cpu: Option<Interval>,
    /// Blocks that were looked into.
    pub blocks: u32,
}
