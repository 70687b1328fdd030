//! Runs beside each other, and a run held to budgets.

use ciphertax_base::{Interval, format};
use ciphertax_model::Metric;
use ciphertax_stats::{BoundVerdict, CostVerdict, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the format of a comparison.
pub const COMPARISON_SCHEMA: &str = "ciphertax.compare/1";

/// Whether the cost changed from the first run to each of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of this format.
    #[schemars(extend("const" = COMPARISON_SCHEMA))]
    pub schema: String,
    /// The answer in one sentence.
    pub verdict: String,
    /// The runs; all others are compared with the first.
    pub runs: Vec<ComparedRun>,
    /// What differs between them besides the cost.
    pub differences: Vec<HeadDifference>,
    /// What is not compared, and why.
    pub not_comparable: Vec<NotComparable>,
    /// Every cost of both runs.
    pub changes: Vec<CostChange>,
}

/// One of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// What it is called here: its folder, as it was given.
    pub name: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The study.
    pub study: String,
    /// Why it was cut off; absent where it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<String>,
}

/// Something that is not the same in all runs, and may be why their costs differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeadDifference {
    /// What it is.
    pub what: String,
    /// How it is in each run, in their order; absent where a run has no such thing.
    pub values: Vec<Option<String>>,
}

/// Something that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotComparable {
    /// The run that is not compared with the first in this, by its place among the runs.
    pub run: usize,
    /// The cell, arm or metric.
    pub what: String,
    /// Why.
    pub why: String,
}

/// One cost of one arm in one cell, in the first run and in another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostChange {
    /// The other run, by its place among the runs.
    pub run: usize,
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// What it costs.
    pub metric: Metric,
    /// True for what a study is precise about: CPU time of both sides, and speed.
    pub headline: bool,
    /// The change against its own baseline in the first run, as a fraction with its 95 % interval.
    pub before: Interval,
    /// The same in the other run.
    pub after: Interval,
    /// Unit of `difference_before` and `difference_after`.
    pub unit: String,
    /// What the arm takes more than its baseline in the first run, in `unit` with its 95 % interval.
    pub difference_before: Interval,
    /// The same in the other run.
    pub difference_after: Interval,
    /// The ratio of the other run's ratio to the first one's less one, as a fraction with its 95 % interval.
    pub change: Interval,
    /// What follows.
    pub verdict: CostVerdict,
    /// Why the verdict is what it is.
    pub rule: Rule,
    /// The smallest difference that counts, as a factor less one: how far the repeated baselines of both runs are apart. Absent
    /// where one of them was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// What differs by less, either way, is the same; as a factor less one.
    pub margin: f64,
    /// Probability of a difference this large if there were none, corrected for all that is compared (Holm).
    pub adjusted_p_value: f64,
}

impl CostChange {
    /// What the arm costs more than its baseline in both runs: `+19.9 % → +30.0 %`.
    pub fn relative_in_words(&self) -> String {
        let [before, after] = [&self.before, &self.after].map(|cost| format::change(cost.value));
        format!("{before} → {after}")
    }

    /// The same in the unit of the metric, `+689 µs → +1.49 ms`. It may rise while the relative cost falls.
    pub fn absolute_in_words(&self) -> String {
        let [before, after] = [self.difference_before, self.difference_after]
            .map(|cost| format::difference(cost, &self.unit).value);
        format!("{before} → {after}")
    }

    /// Both in one: `+19.9 % → +30.0 %, +689 µs → +1.49 ms`.
    pub fn course_in_words(&self) -> String {
        format!("{}, {}", self.relative_in_words(), self.absolute_in_words())
    }
}

/// The version of the format of a gate.
pub const GATE_SCHEMA: &str = "ciphertax.gate/2";

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
    /// The earlier runs of the same thing, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<String>,
    /// Why the first of these that did not come to its end was cut off.
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
    /// Of a cost that is held to earlier runs and cannot be told: seconds that runs would have to take, if the cost is what it seems;
    /// absent where runs of the same thing differ by more from each other, however long they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_needed_s: Option<f64>,
}
