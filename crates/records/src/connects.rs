//! Where the time of a connect goes, and how connects logged in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::AuthenticationFacts;
use crate::sample::Handshakes;
use crate::trace::Phase;

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
