//! What came of holding a run to budgets.

use ciphertax_model::Metric;
use ciphertax_stats::{BoundVerdict, Interval, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::{HeadDifference, NotComparable};

/// The version of the format of a gate.
pub const GATE_SCHEMA: &str = "ciphertax.gate/1";

/// Whether the costs of a run stay within what they may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Version of this format.
    #[schemars(extend("const" = GATE_SCHEMA))]
    pub schema: String,
    /// Over if any row is over; else undecided if any row is; else within.
    pub verdict: BoundVerdict,
    /// The run: its folder, as it was given.
    pub run: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Why it was cut off; absent where it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<String>,
    /// The earlier run, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Why that was cut off; absent where it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_cut_off: Option<String>,
    /// What differs between both besides the cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<HeadDifference>,
    /// What is not compared with the earlier run, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_comparable: Vec<NotComparable>,
    /// Costs of both runs that are not held to the earlier one, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_held: Vec<NotHeld>,
    /// Every cost that is held to something.
    pub rows: Vec<GateRow>,
}

/// What a cost is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldTo {
    /// A budget against the baseline arm.
    Budget,
    /// The cost in an earlier run.
    EarlierRun,
}

/// A cost that is not held to what it was in the earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotHeld {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// What was measured.
    pub metric: Metric,
    /// Why.
    pub why: String,
}

/// One cost and what it is held to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRow {
    /// What it is held to.
    pub held_to: HeldTo,
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// What is limited.
    pub metric: Metric,
    /// The largest change that is allowed, as a fraction with the sign of the change: 0.35, and −0.1 for a tenth less throughput.
    pub limit: f64,
    /// What was measured, as a fraction with its 95 % interval: the change against the baseline arm, or of that against the
    /// earlier run's. Absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Interval>,
    /// What follows.
    pub verdict: BoundVerdict,
    /// Why the verdict is what it is; absent where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
    /// The noise floor, as a factor less one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// Probability of a cost this far above the limit if it were at the limit, corrected for all rows (Holm); 1 where nothing was
    /// measured.
    pub adjusted_p_value: f64,
    /// The half-width of the interval that would decide it if the cost is what it seems, as a fraction; for what cannot be told,
    /// and absent where no measuring would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_needed: Option<f64>,
}
