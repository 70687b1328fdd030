//! Single operations and connects as they are kept.

use std::fs::File;
use std::path::Path;
use std::time::Duration;
use std::{fmt, io};

use csv::Writer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::files::append_to;
use crate::sample::SliceId;

/// A single operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeptOperation {
    /// What it was.
    pub kind: &'static str,
    /// How long it took.
    pub latency: Duration,
    /// The phases of the connection it made; `None` if it made none.
    pub connect: Option<ConnectTrace>,
}

/// One line an operation; times in microseconds, none where a phase did not happen.
#[derive(Debug)]
pub(crate) struct Operations {
    writer: Writer<File>,
}

impl Operations {
    /// Begins the file, or goes on with it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = append_to(path, true)?;
        let is_empty = file.metadata()?.len() == 0;
        let mut writer = Writer::from_writer(file);
        if !is_empty {
            return Ok(Self { writer });
        }
        let of_slice = ["cell", "block", "arm", "operation", "latency_us"];
        let of_phases = Phase::ALL.map(|phase| format!("{}_us", phase.name()));
        writer.write_record(of_slice.into_iter().chain(of_phases.iter().map(String::as_str)))?;
        writer.flush()?;
        Ok(Self { writer })
    }

    /// Appends the operations of a slice.
    pub(crate) fn append(&mut self, slice: &SliceId, kept: &[KeptOperation]) -> io::Result<()> {
        let block = slice.block.to_string();
        for operation in kept {
            let latency = micros(operation.latency);
            let mut phases = [const { String::new() }; Phase::ALL.len()];
            for (phase, trace) in operation.connect.iter().flat_map(|connect| connect.phases()) {
                phases[phase.index()] = micros(Duration::from_nanos(trace.wall_ns));
            }
            let of_slice = [&slice.cell, &block, &slice.arm, operation.kind, &latency];
            self.writer
                .write_record(of_slice.into_iter().chain(phases.iter().map(String::as_str)))?;
        }
        self.writer.flush()
    }
}

fn micros(time: Duration) -> String {
    format!("{:.3}", time.as_nanos() as f64 / 1e3)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::PhaseTrace;

    #[test]
    fn a_line_tells_the_operation_and_what_each_phase_of_its_connect_took() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operations.csv");
        let mut connect = ConnectTrace::default();
        let trace = PhaseTrace {
            wall_ns: 1500,
            ..PhaseTrace::default()
        };
        connect.set(Phase::Tls, trace);
        let operation = |connect| KeptOperation {
            kind: "connect",
            latency: Duration::from_micros(20),
            connect,
        };
        let slice = SliceId {
            cell: "a, \"b\"".into(),
            block: 3,
            position: 0,
            arm: "tls".into(),
        };
        let mut operations = Operations::open(&path).unwrap();
        operations
            .append(&slice, &[operation(Some(connect)), operation(None)])
            .unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "cell,block,arm,operation,latency_us,resolve_us,tcp_us,preface_us,tls_us,auth_us,open_us,key_derivation_us,\
             setup_us,first_operation_us,close_us",
                "\"a, \"\"b\"\"\",3,tls,connect,20.000,,,,1.500,,,,,,",
                "\"a, \"\"b\"\"\",3,tls,connect,20.000,,,,,,,,,,",
            ]
        );
    }

    #[test]
    fn phases_have_the_names_of_records_and_their_place() {
        for (index, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(phase.index(), index);
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.name());
        }
    }

    #[test]
    fn the_phases_of_a_connect_add_up_to_it() {
        let took = |wall_ns| PhaseTrace {
            wall_ns,
            ..PhaseTrace::default()
        };
        let mut trace = ConnectTrace::default();
        trace.set(Phase::Tcp, took(20));
        trace.set(Phase::Auth, took(40));
        trace.set_until_now(Phase::FirstOperation, 100, took(30));
        trace.set_until_now(Phase::Close, 170, took(50));
        let walls: Vec<u64> = trace.phases().map(|(_, trace)| trace.wall_ns).collect();
        assert_eq!(walls, [20, 40, 40, 70]);
    }
}
