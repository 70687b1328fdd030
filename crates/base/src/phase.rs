//! The phases of a connect, and what each took.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// A phase of a new connection, in the order in which all reports have them. That is the order in which they happen, but on
/// MongoDB, where TLS begins at once and the greeting comes after it.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Name to address.
    Resolve,
    /// SYN to established.
    Tcp,
    /// What both sides say of themselves before the login: the server's greeting, or the client's question and its answer;
    /// for TLS also the request to switch, where the protocol has one.
    Preface,
    /// The TLS handshake.
    Tls,
    /// The login.
    Auth,
    /// Opening a database's file, where there is no server.
    Open,
    /// Deriving the key of an encrypted file, and reading its first page by it.
    KeyDerivation,
    /// Session settings after the login.
    Setup,
    /// The first query and its whole answer.
    FirstOperation,
    /// Saying goodbye, and what is left to be waited for until the server has closed the connection before.
    Close,
}

impl Phase {
    /// Every phase, in that order.
    pub const ALL: [Self; Self::VARIANTS.len()] = match Self::VARIANTS.first_chunk() {
        Some(all) => *all,
        None => unreachable!(),
    };

    /// Position in [`Phase::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name a reader sees.
    pub fn label(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Tcp => "TCP",
            Self::Preface => "greeting",
            Self::Tls => "TLS handshake",
            Self::Auth => "authentication",
            Self::Open => "open",
            Self::KeyDerivation => "key derivation",
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
    /// CPU time of the client's thread in nanoseconds, system calls included; `None` where it was not noted, as under load,
    /// where a thread has other connects to do meanwhile.
    pub thread_cpu_ns: Option<u64>,
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

    /// Notes what a phase took that has ended just now, `elapsed_ns` after the connect began: all the time that the phases
    /// before it did not take. So the phases of a connect add up to it.
    pub fn set_until_now(&mut self, phase: Phase, elapsed_ns: u64, trace: PhaseTrace) {
        let before: u64 = self.phases().map(|(_, trace)| trace.wall_ns).sum();
        self.set(
            phase,
            PhaseTrace {
                wall_ns: elapsed_ns.saturating_sub(before),
                ..trace
            },
        );
    }

    /// What a phase took; `None` if it did not happen.
    pub fn of(&self, phase: Phase) -> Option<&PhaseTrace> {
        self.phases[phase.index()].as_ref()
    }

    /// Wall time of the TLS handshake in nanoseconds; 0 without one.
    pub fn handshake_ns(&self) -> u64 {
        self.of(Phase::Tls).map_or(0, |trace| trace.wall_ns)
    }

    /// The phases that happened, in order.
    pub fn phases(&self) -> impl Iterator<Item = (Phase, &PhaseTrace)> {
        Phase::ALL
            .into_iter()
            .zip(&self.phases)
            .filter_map(|(phase, trace)| Some((phase, trace.as_ref()?)))
    }
}
