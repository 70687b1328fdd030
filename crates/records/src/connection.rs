//! What `connect` finds, and what a connect is made of.

use std::collections::BTreeMap;

use ciphertax_base::ChainCertificate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::consequences::Finding;
use crate::head::Tool;
use crate::sample::Handshakes;
use ciphertax_base::{AuthenticationFacts, Phase, SessionFacts};

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
    /// What listens in its place and passes connections on; absent where it listens itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
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
    pub saves_us: Option<ciphertax_base::Interval>,
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
    #[serde(with = "crate::connection::by_login")]
    #[schemars(schema_with = "crate::connection::by_login::schema")]
    pub logins: BTreeMap<AuthenticationFacts, u64>,
    /// Their TLS handshakes; absent for unencrypted connects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
}

/// Counts by login, keyed `method/path` in records.
pub(crate) mod by_login {
    use std::collections::BTreeMap;

    use schemars::{Schema, SchemaGenerator, json_schema};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};
    use strum::VariantArray;

    use ciphertax_base::{AuthenticationFacts, LoginPath};

    pub(crate) fn serialize<S: Serializer>(
        counts: &BTreeMap<AuthenticationFacts, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(counts.iter().map(|(login, count)| (login.to_string(), count)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<AuthenticationFacts, u64>, D::Error> {
        let counts = BTreeMap::<String, u64>::deserialize(deserializer)?;
        counts
            .into_iter()
            .map(|(login, count)| Ok((login.parse().map_err(D::Error::custom)?, count)))
            .collect()
    }

    pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
        let paths: Vec<&str> = LoginPath::VARIANTS.iter().map(|path| path.name()).collect();
        let paths = paths.join("|");
        json_schema!({
            "type": "object",
            "propertyNames": { "pattern": format!("/({paths})$") },
            "additionalProperties": { "type": "integer", "minimum": 0 }
        })
    }
}
