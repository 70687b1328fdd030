//! Timing the phases of a connect.

use std::cell::Cell;
use std::time::Instant;

use ciphertax_records::{ConnectTrace, Phase, PhaseTrace};

use crate::traffic::Traffic;

thread_local! {
    static NOTES_CPU: Cell<bool> = const { Cell::new(false) };
    static IS_REACHED: Cell<bool> = const { Cell::new(false) };
}

/// From now on connects of the calling thread note its CPU time in every phase ([`PhaseTrace::thread_cpu_ns`]). A system
/// call more for each is nothing that a load should pay for, and with several connects at a time it would be of them all:
/// for a thread that makes one after the other.
pub fn note_thread_cpu() {
    NOTES_CPU.set(true);
}

/// True if the latest connect of the calling thread reached the server, and the server then did not answer what
/// comes first: nothing but the connection itself was made.
pub fn is_silent_once_reached() -> bool {
    IS_REACHED.get()
}

/// Cuts a connect into phases: each ends where the next begins.
pub(crate) struct Tracer {
    trace: ConnectTrace,
    phase_began: Instant,
    /// CPU time of the thread when the phase began; `None` where it is not noted.
    cpu_before_ns: Option<u64>,
    traffic: Traffic,
}

impl Tracer {
    pub(crate) fn start() -> Self {
        IS_REACHED.set(false);
        Self {
            trace: ConnectTrace::default(),
            phase_began: Instant::now(),
            cpu_before_ns: noted_cpu_ns(),
            traffic: Traffic::default(),
        }
    }

    /// Ends a phase. `traffic` is that of the connection so far.
    pub(crate) fn end(&mut self, phase: Phase, traffic: Traffic, client_cpu_ns: Option<u64>) {
        let (now, cpu_ns) = (Instant::now(), noted_cpu_ns());
        let trace = PhaseTrace {
            wall_ns: (now - self.phase_began).as_nanos() as u64,
            client_cpu_ns,
            thread_cpu_ns: cpu_ns
                .zip(self.cpu_before_ns)
                .map(|(now, before)| now.saturating_sub(before)),
            ..traffic.since(self.traffic)
        };
        self.trace.set(phase, trace);
        IS_REACHED.set(phase == Phase::Tcp);
        self.phase_began = now;
        self.cpu_before_ns = cpu_ns;
        self.traffic = traffic;
    }

    pub(crate) fn finish(self) -> ConnectTrace {
        self.trace
    }
}

fn noted_cpu_ns() -> Option<u64> {
    NOTES_CPU.get().then(thread_cpu_ns)
}

/// CPU time of the calling thread in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
