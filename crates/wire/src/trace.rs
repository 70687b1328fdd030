//! Timing the phases of a connect.

use std::time::Instant;

use ciphertax_records::{ConnectTrace, Phase, PhaseTrace};

use crate::traffic::Traffic;

/// Cuts a connect into phases: each ends where the next begins.
pub(crate) struct Tracer {
    trace: ConnectTrace,
    phase_began: Instant,
    traffic: Traffic,
}

impl Tracer {
    pub(crate) fn start() -> Self {
        Self {
            trace: ConnectTrace::default(),
            phase_began: Instant::now(),
            traffic: Traffic::default(),
        }
    }

    /// Ends a phase. `traffic` is that of the connection so far.
    pub(crate) fn end(&mut self, phase: Phase, traffic: Traffic, client_cpu_ns: Option<u64>) {
        let now = Instant::now();
        let trace = PhaseTrace {
            wall_ns: (now - self.phase_began).as_nanos() as u64,
            client_cpu_ns,
            ..traffic.since(self.traffic)
        };
        self.trace.set(phase, trace);
        self.phase_began = now;
        self.traffic = traffic;
    }

    pub(crate) fn finish(self) -> ConnectTrace {
        self.trace
    }
}

/// CPU time of the calling thread in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
