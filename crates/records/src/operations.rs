//! Single operations and connects as they are kept.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use ciphertax_base::{ConnectTrace, Phase};
use csv::Writer;

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

#[cfg(test)]
mod tests {
    use super::*;
    use ciphertax_base::PhaseTrace;

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
