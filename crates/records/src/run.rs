//! `run.json`: everything a report is made from.

use std::collections::BTreeMap;

use ciphertax_model::{Command, Link, LinkKind, Metric, Pace, Study, Transport, Workload};
use ciphertax_stats::{Interval, Rule, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{Proof, SessionFacts};
use crate::sample::{Handshakes, VoidReason};
use crate::trace::Phase;

/// The version of the format of `run.json`.
pub const SCHEMA: &str = "ciphertax.run/2";

/// One run of a study: what was asked, where, and what came out. Everything below `arms` is derived from
/// `samples.jsonl` and can be made again from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of this format: [`SCHEMA`].
    pub schema: String,
    /// Who measured.
    pub tool: Tool,
    /// Where it was measured.
    pub host: Host,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Seconds from the first slice to the last.
    pub elapsed_s: f64,
    /// Whether it came to its end.
    pub status: RunStatus,
    /// The command that repeats it; passwords are left out.
    pub command: String,
    /// The user's own server as a URL without its password; absent for private ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Seed of the order of the slices.
    pub seed: u64,
    /// What was asked.
    pub study: Study,
    /// Which servers answered, in the order of the cells measured on them.
    pub servers: Vec<ServerRecord>,
    /// How every arm was run and proved; the first is the baseline, the second its repetition.
    pub arms: Vec<ArmRecord>,
    /// Arms that the study asks about and that were not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// How every cell was measured.
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
    /// Ratios block by block, so that a reader sees the noise.
    pub block_ratios: Vec<BlockRatios>,
    /// How fast each arm did its batches, in cells that have them.
    #[serde(default)]
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
    /// Causes, suspicions and advice, each with what triggered it.
    pub findings: Vec<Finding>,
    /// Figures published elsewhere, beside what was measured.
    #[serde(default)]
    pub published: Vec<PublishedRow>,
    /// Slices that do not count, and why.
    pub void: Vec<VoidRow>,
}

impl Run {
    /// A run of which nothing is measured yet.
    pub fn begin(tool: Tool, host: Host, study: Study, command: String, seed: u64) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool,
            host,
            started: String::new(),
            elapsed_s: 0.0,
            status: RunStatus::Running,
            command,
            target: None,
            seed,
            study,
            servers: Vec::new(),
            arms: Vec::new(),
            left_out: Vec::new(),
            cells: Vec::new(),
            verdict: String::new(),
            measurements: Vec::new(),
            estimates: Vec::new(),
            noise_floor: Vec::new(),
            by_kind: Vec::new(),
            block_ratios: Vec::new(),
            batches: Vec::new(),
            connect_phases: Vec::new(),
            connects: Vec::new(),
            churn: Vec::new(),
            capacity: Vec::new(),
            findings: Vec::new(),
            published: Vec::new(),
            void: Vec::new(),
        }
    }

    /// What a variant costs in a cell; `None` where too few blocks were measured.
    pub fn estimate(&self, cell: &str, arm: &str, metric: Metric) -> Option<&EstimateRow> {
        self.estimates
            .iter()
            .find(|row| row.cell == cell && row.arm == arm && row.metric == metric)
    }

    /// The server a cell was measured on.
    pub fn server_of(&self, cell: &CellRecord) -> Option<&ServerRecord> {
        let mut servers = self.servers.iter();
        servers.find(|server| server.id.is_same(&server.name, &cell.server_id, &cell.server))
    }
}

/// Who measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Always `ciphertax`.
    pub name: String,
    /// Release.
    pub version: String,
    /// Commit it was built from; `unknown` outside a checkout.
    pub commit: String,
}

/// Where it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Operating system, as it names itself.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The hypervisor or `none`; `unknown` where it cannot be told.
    pub virtualization: String,
}

/// Whether a run came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunStatus {
    /// Still measuring, or ended without a word (killed).
    Running,
    /// Every cell reached its precision or the time was spent.
    Complete,
    /// Ended early; what was measured until then is reported.
    Partial {
        /// Why.
        reason: String,
    },
    /// Measured to the end, but something that was made for it is left.
    NotCleanedUp {
        /// What, why, and how to remove it.
        problem: String,
    },
}

/// Which server answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerRecord {
    /// What cells and sessions refer to it by.
    #[serde(default, skip_serializing_if = "ServerId::is_unknown")]
    pub id: ServerId,
    /// What it is called in reports, unique in its run.
    pub name: String,
    /// The names of the cells that are measured on it. Of several servers of a cell, that of the baseline comes first in the
    /// run. Empty in records of former releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// `MariaDB`, `MySQL`, …
    pub product: String,
    /// The server's own version string.
    pub version: String,
    /// The server's TLS library, by its own word; empty where it does not say.
    pub tls_library: String,
    /// Started by ciphertax, or the user's own.
    pub placement: ServerPlacement,
    /// Where it listened, without credentials.
    pub address: String,
    /// True if it ran on the machine that made the load, so that both shared the CPUs.
    pub same_host: bool,
    /// Settings that matter, by the server's names.
    pub settings: BTreeMap<String, String>,
    /// Why its CPU time could not be read, and what would make it readable; absent where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_unread: Option<String>,
    /// How it was kept at a distance; absent without one, and until the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkRecord>,
}

/// Which server of a run: a number, from 1 on. Records of former releases have none, and names stand for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ServerId(String);

impl ServerId {
    /// That of the server of this number, from 1 on.
    pub fn numbered(number: usize) -> Self {
        Self(number.to_string())
    }

    /// True in records of former releases.
    pub fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    /// True if both are known to be, or not to be, and are the same; by name where neither is.
    fn is_same(&self, name: &str, other: &Self, other_name: &str) -> bool {
        self == other && (!self.is_unknown() || name == other_name)
    }
}

/// What kept a server at a distance, and how exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRecord {
    /// How it delayed.
    pub by: LinkKind,
    /// The distances it had, each once, in the order of the cells.
    pub distances: Vec<Link>,
    /// Packets delivered, both directions together; for a relay, pieces of what it read.
    pub packets: u64,
    /// Median over the packets of how much later than due they were handed to the receiving side, in microseconds.
    pub lateness_median_us: f64,
    /// 99th percentile of the same.
    pub lateness_p99_us: f64,
    /// The latest of all.
    pub lateness_max_us: f64,
    /// Packets dropped because the queue before a limited bandwidth was full, as a router drops them.
    pub dropped: u64,
}

/// Whose server it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerPlacement {
    /// Made, started and removed by ciphertax.
    Private,
    /// Given by URL.
    External,
}

/// How an arm was run and proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmRecord {
    /// Its name.
    pub name: String,
    /// Its part in the comparison.
    pub role: ArmRole,
    /// How bytes travelled.
    pub transport: Transport,
    /// What it was on each server it was measured on.
    pub sessions: Vec<SessionRecord>,
}

impl ArmRecord {
    /// What its sessions in a cell were, with the cell's server or with one of its own beside it; `None` if it was not measured
    /// there.
    pub fn sessions_in(&self, cell: &CellRecord) -> Option<&SessionRecord> {
        let is_of_cell = |id: &ServerId, name: &str| id.is_same(name, &cell.server_id, &cell.server);
        self.sessions.iter().find(|session| {
            let beside = session.beside.as_deref();
            is_of_cell(&session.server_id, &session.server)
                || beside.is_some_and(|beside| is_of_cell(&session.beside_id, beside))
        })
    }
}

/// An arm that was not measured because the server cannot do what it asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name in the study.
    pub arm: String,
    /// Why.
    pub reason: String,
}

/// What the sessions of an arm with one server were, and how that was proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRecord {
    /// The server.
    #[serde(default, skip_serializing_if = "ServerId::is_unknown")]
    pub server_id: ServerId,
    /// Its name.
    pub server: String,
    /// The baseline's server, where the arm needed one of its own.
    #[serde(default, skip_serializing_if = "ServerId::is_unknown")]
    pub beside_id: ServerId,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The evidence that the arm is what it says.
    pub proofs: Vec<Proof>,
    /// What was negotiated.
    pub facts: SessionFacts,
}

/// The part of an arm in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArmRole {
    /// What all others are compared with.
    Baseline,
    /// The baseline once more: the noise floor.
    BaselineAgain,
    /// What the study asks about.
    Variant,
}

/// How a cell was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellRecord {
    /// Its name.
    pub name: String,
    /// What was asked of the database.
    pub workload: Workload,
    /// The server it was measured on, that of the baseline.
    #[serde(default, skip_serializing_if = "ServerId::is_unknown")]
    pub server_id: ServerId,
    /// Its name.
    pub server: String,
    /// The distance to the server; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The program that was the load; absent where ciphertax made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Connections of each arm; 0 where a program of the user's own chose.
    pub connections: u32,
    /// Load threads; 0 where a program of the user's own was the load.
    pub workers: u32,
    /// Microseconds a load thread waited for more sockets to become ready.
    #[serde(alias = "gather_us")]
    pub poll_delay_us: u32,
    /// When operations began, and what ended a slice.
    #[serde(default)]
    pub pace: Pace,
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
    /// The baseline's value.
    pub baseline: f64,
    /// The variant's value.
    pub variant: f64,
    /// Mean ratio of the blocks less one, as a fraction: 0.05 is five percent more than the baseline.
    pub change: f64,
    /// Lower bound of the 95 % interval of `change`.
    pub low: f64,
    /// Upper bound of the 95 % interval of `change`.
    pub high: f64,
    /// The same in `unit`: variant less baseline, with its 95 % interval. Its sign is that of `change`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Interval>,
    /// Blocks the estimate rests on.
    pub blocks: u32,
    /// What follows.
    pub verdict: Verdict,
    /// Why the verdict is what it is.
    #[serde(default)]
    pub rule: Rule,
    /// The noise floor: the smallest change that the baseline against itself lets count, as a factor less one (0.05: a
    /// ratio of 1.05 or of 1/1.05). Absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// The cost that `no_cost` excludes, as a factor less one: the larger of the noise floor and the margin, which is twice
    /// the precision asked for.
    pub margin: f64,
    /// Probability of a difference this large if there were none, corrected for all comparisons of the run (Holm).
    #[serde(default)]
    pub adjusted_p_value: f64,
    /// Seconds of measuring still needed to tell; only for `cannot_tell`, and absent where even that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_time_s: Option<f64>,
    /// Why there is no verdict although there are numbers: for example `client-bound`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
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

/// The ratios variant/baseline of each block, in the order they were measured.
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

/// One phase of a connect on one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// Which phase.
    pub phase: Phase,
    /// Mean wall time in microseconds. The phases of an arm add up to its mean latency in the same cell.
    pub mean_us: f64,
    /// Median wall time in microseconds.
    pub p50_us: f64,
    /// 95th percentile of the wall time in microseconds.
    pub p95_us: f64,
    /// 99th percentile of the wall time in microseconds.
    pub p99_us: f64,
    /// Client CPU per connect in microseconds; absent where the phase is not measured by CPU.
    pub client_cpu_us: Option<f64>,
    /// Bytes sent per connect.
    pub bytes_sent: f64,
    /// Bytes received per connect.
    pub bytes_received: f64,
    /// Times per connect that the client had to wait for the server before it could go on.
    pub flights: f64,
}

/// How the connects of one arm in one cell logged in, and whether they took up earlier TLS sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// Logins by authentication path, written `plugin/path`.
    pub logins: BTreeMap<String, u64>,
    /// Their TLS handshakes; absent for plaintext connects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
}

/// Cost of a feature against queries per connection, for one arm and one side:
/// `(C₁ + n·q₁)/(C₀ + n·q₀) − 1` with connect cost C and per-query cost q in CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChurnRow {
    /// Name of the cell that measured the connect; the query is that of the point-select cell on the same server.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// Who pays: `client`, `server` or `both`.
    pub side: String,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_overhead: Option<Interval>,
    /// Whether a query alone is sure to cost anything; of both sides together, if it is of either.
    #[serde(default = "undecided")]
    pub query_verdict: Verdict,
    /// The curve.
    pub points: Vec<ChurnPoint>,
    /// From how many queries per connection the cost stays below a budget.
    pub break_even: Vec<ChurnBreakEven>,
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
    /// The same for the lower bound of the overhead. If even that is absent, it is sure that the cost is never below the
    /// budget, because a query alone costs more.
    pub queries_low: Option<f64>,
    /// The same for the upper bound of the overhead; absent if it is not sure that the cost is ever below the budget.
    pub queries_high: Option<f64>,
}

/// CPU cores a feature needs at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRow {
    /// Name of the arm.
    pub arm: String,
    /// Who pays: `client` or `server`.
    pub side: String,
    /// Of what: `queries` or `connections`.
    pub of: String,
    /// Name of the cell it was measured in.
    pub cell: String,
    /// The rate per second the cores are given for.
    pub rate: f64,
    /// Extra cores at that rate, with the 95 % interval: the rate times the difference of the CPU per operation.
    pub extra_cores: Interval,
    /// Whether the feature is sure to cost cores at all: the verdict of that difference.
    #[serde(default = "undecided")]
    pub verdict: Verdict,
}

fn undecided() -> Verdict {
    Verdict::CannotTell
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
    #[serde(default)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_joined_by_number_and_in_records_of_former_releases_by_name() {
        let (one, two, unknown) = (ServerId::numbered(1), ServerId::numbered(2), ServerId::default());
        assert!(one.is_same("a", &one, "b"));
        assert!(!one.is_same("a", &two, "a"));
        assert!(unknown.is_same("a", &unknown, "a"));
        assert!(!unknown.is_same("a", &unknown, "b"));
        assert!(!unknown.is_same("a", &one, "a"));
    }
}
