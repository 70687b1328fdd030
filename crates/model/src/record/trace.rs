//! The phases of a connect.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A phase of a new connection, in the order they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Name to address.
    Resolve,
    /// SYN to established.
    Tcp,
    /// Greeting and, for TLS, the request to switch.
    Preface,
    /// The TLS handshake.
    Tls,
    /// The login.
    Auth,
    /// Session settings after the login.
    Setup,
    /// The first query and its whole answer.
    FirstOperation,
    /// Saying goodbye and closing the socket.
    Close,
}

impl Phase {
    /// Every phase in order.
    pub const ALL: [Self; 8] = [
        Self::Resolve,
        Self::Tcp,
        Self::Preface,
        Self::Tls,
        Self::Auth,
        Self::Setup,
        Self::FirstOperation,
        Self::Close,
    ];

    /// Position in [`Phase::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name a reader sees.
    pub fn label(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Tcp => "TCP",
            Self::Preface => "greeting",
            Self::Tls => "TLS handshake",
            Self::Auth => "authentication",
            Self::Setup => "setup",
            Self::FirstOperation => "first query",
            Self::Close => "close",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// One connect taken apart: what every phase took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectTrace {
    phases: [Option<PhaseTrace>; Phase::ALL.len()],
}

/// What one phase of one connect took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PhaseTrace {
    /// Wall time in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the client's cryptography in nanoseconds; `None` where the phase has none.
    pub client_cpu_ns: Option<u64>,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Times the client had to wait for the server before it could go on.
    pub flights: u32,
}

impl ConnectTrace {
    /// Notes what a phase took.
    pub fn set(&mut self, phase: Phase, trace: PhaseTrace) {
        self.phases[phase.index()] = Some(trace);
    }

    /// The phases that happened, in order.
    pub fn phases(&self) -> impl Iterator<Item = (Phase, &PhaseTrace)> {
        Phase::ALL
            .into_iter()
            .zip(&self.phases)
            .filter_map(|(phase, trace)| Some((phase, trace.as_ref()?)))
    }
}
