//! What follows for a reader: cost against queries per connection, cores at a rate, findings, and published figures beside
//! the measured ones.

use ciphertax_base::Interval;
use ciphertax_model::Metric;
use ciphertax_stats::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cost of a feature against queries per connection, for one arm and one side:
/// `(C₁ + n·q₁)/(C₀ + n·q₀) − 1` with connect cost C and per-query cost q in CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChurnRow {
    /// Name of the cell that measured the connect.
    pub cell: String,
    /// Name of the cell on the same server that measured the query.
    pub query_cell: String,
    /// Name of the arm.
    pub arm: String,
    /// Who pays.
    pub side: Side,
    /// CPU of a connect without its query, baseline, in microseconds.
    pub connect_baseline_us: f64,
    /// CPU of a connect without its query, this arm, in microseconds.
    pub connect_variant_us: f64,
    /// CPU of a query, baseline, in microseconds.
    pub query_baseline_us: f64,
    /// CPU of a query, this arm, in microseconds.
    pub query_variant_us: f64,
    /// The overhead of a query over a connection that stays open, as a fraction, with its 95 % interval: what the curve
    /// ends at.
    pub query_overhead: Interval,
    /// Whether a query alone is sure to cost anything; of both sides together, if neither is undecided.
    pub query_verdict: Verdict,
    /// The noise floor of that, as a fraction; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_floor: Option<f64>,
    /// The curve.
    pub points: Vec<ChurnPoint>,
    /// From how many queries per connection the cost stays below a budget.
    pub break_even: Vec<ChurnBreakEven>,
    /// Queries per connection below which the arm saves CPU, with the 95 % interval; on the server's side what tunnel and pooler
    /// take is in it. Absent unless a connection is sure to save, and a query to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saves_below: Option<Interval>,
}

impl ChurnRow {
    /// True if the cost is sure to be within a budget from some number of queries on: by its interval, and with a noise floor that
    /// is no larger than the budget.
    pub fn is_within(&self, point: &ChurnBreakEven) -> bool {
        point.queries_high.is_some() && self.query_floor.is_some_and(|floor| floor <= point.budget)
    }

    /// True if the cost is sure to be above a budget however many queries a connection has: a query alone costs more than it, beyond
    /// the noise floor.
    pub fn is_never_within(&self, point: &ChurnBreakEven) -> bool {
        let is_beyond_floor = self
            .query_floor
            .is_some_and(|floor| self.query_overhead.value - point.budget > floor);
        self.query_verdict == Verdict::Costs
            && is_beyond_floor
            && (point.queries, point.queries_low) == (None, None)
    }
}

/// One point of a churn curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChurnPoint {
    /// Queries per connection.
    pub queries: f64,
    /// Overhead as a fraction, with its 95 % interval.
    pub overhead: Interval,
}

/// From how many queries per connection the cost stays below a budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChurnBreakEven {
    /// The budget as a fraction: 0.01 is one percent.
    pub budget: f64,
    /// Queries per connection beyond which the estimate is below the budget; absent if it never is.
    pub queries: Option<f64>,
    /// The same for the lower bound of the overhead.
    pub queries_low: Option<f64>,
    /// The same for the upper bound of the overhead; absent if it is not sure that the cost is ever below the budget.
    pub queries_high: Option<f64>,
}

/// CPU cores a feature needs at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRow {
    /// Name of the arm.
    pub arm: String,
    /// Who pays.
    pub side: Side,
    /// Of what the rate is.
    pub of: Rated,
    /// Name of the cell it was measured in.
    pub cell: String,
    /// The rate per second the cores are given for.
    pub rate: f64,
    /// Extra cores at that rate, with the 95 % interval: the rate times the difference of the CPU per operation.
    pub extra_cores: Interval,
    /// Whether the feature is sure to cost cores at all: the verdict of that difference.
    pub verdict: Verdict,
}

/// Who pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Side {
    /// The load generator's side.
    Client,
    /// The server's side.
    Server,
    /// Client and server together.
    Both,
}

/// Of what a rate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Rated {
    /// Queries over connections that stay open.
    Queries,
    /// Operations that write, over connections that stay open.
    #[strum(serialize = "writing operations")]
    Writes,
    /// New connections.
    #[strum(serialize = "new connections")]
    Connections,
}

/// How much attention a finding deserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Explains a number.
    Cause,
    /// Something to do.
    Advice,
    /// Something that casts doubt on a number.
    Suspicion,
}

/// A cause, a piece of advice or a suspicion, with the measured evidence that triggered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Which finding it is, the same in every run.
    pub id: String,
    /// What kind of finding it is.
    pub severity: Severity,
    /// What follows, in one sentence.
    pub summary: String,
    /// The measured evidence.
    pub evidence: String,
}

/// A figure published elsewhere, beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRow {
    /// On what it was measured: server, library, machine.
    pub source: String,
    /// Name of the cell that measures the same.
    pub cell: String,
    /// Name of the variant.
    pub arm: String,
    /// What was compared.
    pub metric: Metric,
    /// The kind of operation it is of; absent for all kinds together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The published change, as a fraction; absent where only a bound was published.
    pub change: Option<f64>,
    /// The published bound, as a fraction: no larger change either way.
    pub within: Option<f64>,
    /// The measured change with its 95 % interval, as fractions; absent where it was not measured.
    pub measured: Option<Interval>,
    /// By how much a published and a measured figure may differ and still agree, as a factor less one; absent where it was
    /// not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Whether both say the same.
    pub agreement: Agreement,
    /// What was measured that explains the figure.
    pub explanation: Option<String>,
    /// What a reader should know who compares the two.
    pub note: Option<String>,
}

/// Whether a published figure and a measured one say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The whole measured interval lies within the margin of the published figure.
    Agrees,
    /// All of the measured interval is further from the published figure than the margin.
    Differs,
    /// The interval or the noise is too wide, or nothing was measured.
    CannotTell,
}
