//! What `connect` finds, and what a connect is made of.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::consequences::Finding;
use crate::facts::{AuthenticationFacts, SessionFacts};
use crate::head::Tool;
use crate::operations::Phase;
use crate::sample::Handshakes;

/// The version of the format of [`ConnectionRecord`].
pub const CONNECTION_SCHEMA: &str = "ciphertax.connection/1";

/// One connection to a server, or several alike, taken apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionRecord {
    /// Version of this format.
    #[schemars(extend("const" = CONNECTION_SCHEMA))]
    pub schema: String,
    /// Who measured.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The server as a URL without its password.
    pub target: String,
    /// What it is called: `MariaDB`, `MySQL`, `PostgreSQL` or `MongoDB`, as far as its version says.
    pub product: String,
    /// Where it listens.
    pub address: String,
    /// True if it runs on this machine.
    pub same_host: bool,
    /// How many connections were taken apart.
    pub connections: u32,
    /// What each phase took, in the order in which they happened. All but `close` add up to `first_answer`.
    pub phases: Vec<ConnectionPhase>,
    /// From nothing to the first answer, the goodbye not included.
    pub first_answer: ConnectionTotal,
    /// What was negotiated, by the last of them.
    pub facts: SessionFacts,
    /// How they logged in, in the order of the connections.
    pub logins: Vec<AuthenticationFacts>,
    /// The certificates that the server sent, its own first; none in plaintext.
    pub chain: Vec<ChainCertificate>,
    /// Who computes what.
    pub work: Vec<ConnectionWork>,
    /// A way that was tried between them, one connection for each; absent where there was none to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<TriedConnection>,
    /// What was noticed, and what would be cheaper.
    pub findings: Vec<Finding>,
}

/// The median of several connections, with how far they spread; of one connection all figures are the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Half of them took no more.
    pub median: f64,
    /// A quarter of them took no more.
    pub low: f64,
    /// Three quarters of them took no more.
    pub high: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// What a phase took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionPhase {
    /// Which.
    pub phase: Phase,
    /// The name a reader sees.
    pub label: String,
    /// Wall time in microseconds.
    pub wall_us: Spread,
    /// CPU time of the client's thread in microseconds, system calls included; absent where it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_us: Option<Spread>,
    /// The part of it that was cryptography; absent where the phase has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cryptography_us: Option<Spread>,
    /// Bytes sent, the median.
    pub bytes_sent: f64,
    /// Bytes received, the median.
    pub bytes_received: f64,
    /// Times that the client had to wait for the server before it could go on, the median.
    pub flights: f64,
}

/// What a connection took until its first answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionTotal {
    /// Wall time in microseconds.
    pub wall_us: Spread,
    /// CPU time of the client's thread in microseconds, system calls included.
    pub client_cpu_us: Spread,
    /// The part of it that was cryptography.
    pub cryptography_us: Spread,
    /// CPU time of the server in microseconds, from before the connection until it was quiet after the first answer, of the
    /// connections before and after which it was quiet; absent where these are fewer than half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us: Option<Spread>,
    /// Why the server's could not be read, and what would change that; absent where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_unread: Option<String>,
    /// Bytes sent, the median.
    pub bytes_sent: f64,
    /// Bytes received, the median.
    pub bytes_received: f64,
    /// Times that the client had to wait for the server, the median.
    pub flights: f64,
}

/// A certificate of the chain that a server sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainCertificate {
    /// Whom it is for: `CN=db.example, O=Example`.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// Host names and addresses that it is for, the first twenty.
    pub names: Vec<String>,
    /// From when on it holds, RFC 3339 in UTC.
    pub not_before: String,
    /// Until when it holds, RFC 3339 in UTC.
    pub not_after: String,
    /// Whole days until then; negative once it has expired.
    pub days_left: i64,
    /// Key type and size, for example `EC P-256` or `RSA 2048`.
    pub key: String,
    /// Algorithm of the signature on it.
    pub signature: String,
    /// Bytes of it.
    pub bytes: u32,
}

impl ChainCertificate {
    /// True if it does not hold yet at that time, RFC 3339 in UTC.
    pub fn begins_after(&self, time: &str) -> bool {
        // Both name year, month, day, hour, minute and second in as many digits; what follows are parts of a second.
        let second = |time: &str| time.chars().take("0000-00-00T00:00:00".len()).collect::<String>();
        second(&self.not_before) > second(time)
    }
}

/// A step of a connection that takes cryptography, and what each side computes in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionWork {
    /// The step.
    pub step: String,
    /// What the client computes.
    pub client: String,
    /// What the server computes.
    pub server: String,
}

/// Another way to connect that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedConnection {
    /// Which, as the rest of a sentence: `resuming the TLS session`.
    pub way: String,
    /// Connections in which the server took up the earlier TLS session.
    pub resumed: u32,
    /// Why it cannot be had, or not always; absent where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// Wall time of its TLS handshake in microseconds; absent where it cannot be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_us: Option<Spread>,
    /// By how many microseconds that is shorter: the median of pairs of neighbouring connections in random order, with its
    /// 95 % interval; absent with fewer than six pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saves_us: Option<ciphertax_stats::Interval>,
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

impl PhaseRow {
    /// True if nobody greets: the client asks for TLS, and a single byte answers, as PostgreSQL does.
    pub fn is_request_for_tls(&self) -> bool {
        self.phase == Phase::Preface && self.bytes_received > 0.0 && self.bytes_received <= 1.0
    }

    /// The name of the phase that a reader sees.
    pub fn label(&self) -> &'static str {
        match self.is_request_for_tls() {
            true => "TLS request",
            false => self.phase.label(),
        }
    }
}

/// How the connects of one arm in one cell logged in, and whether they took up earlier TLS sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// Logins by method and path, written `method/path`.
    #[serde(with = "crate::facts::by_login")]
    #[schemars(schema_with = "crate::facts::by_login::schema")]
    pub logins: BTreeMap<AuthenticationFacts, u64>,
    /// Their TLS handshakes; absent for unencrypted connects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
}
