//! The phases of a connect, timed, and what goes over a connection, counted.

use std::cell::Cell;
use std::time::Instant;

use ciphertax_base::{ConnectTrace, Phase, PhaseTrace};

use crate::error::{Result, WireError};

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

/// What went over a connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes given to the socket.
    pub sent: u64,
    /// Bytes taken from the socket.
    pub received: u64,
    /// Times the client had to wait for the server after it had sent something.
    pub flights: u32,
}

impl Traffic {
    /// What a phase took that began at `began`, when the traffic was `before`.
    pub fn phase_since(self, began: Instant, before: Self) -> PhaseTrace {
        PhaseTrace {
            wall_ns: began.elapsed().as_nanos() as u64,
            ..self.since(before)
        }
    }

    /// What was sent and received since the traffic was `before`.
    pub(crate) fn since(self, before: Self) -> PhaseTrace {
        PhaseTrace {
            wall_ns: 0,
            client_cpu_ns: None,
            thread_cpu_ns: None,
            bytes_sent: self.sent - before.sent,
            bytes_received: self.received - before.received,
            flights: self.flights - before.flights,
        }
    }
}

/// Counts what goes over a connection.
pub(crate) struct Meter {
    traffic: Traffic,
    answer_awaited: bool,
}

impl Meter {
    /// Of a connection for which the client has waited so often. Where the server speaks first, it waits once more.
    pub(crate) fn new(flights: u32) -> Self {
        Self {
            traffic: Traffic {
                flights,
                ..Traffic::default()
            },
            answer_awaited: true,
        }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    pub(crate) fn sent(&mut self, count: usize) {
        self.traffic.sent += count as u64;
        self.answer_awaited = true;
    }

    /// Counts what was received; nothing at all means that the server closed.
    pub(crate) fn received(&mut self, count: usize) -> Result<usize> {
        self.traffic.received += count as u64;
        if count == 0 {
            Err(WireError::Closed)
        } else {
            Ok(count)
        }
    }

    pub(crate) fn waits(&mut self) {
        self.traffic.flights += u32::from(self.answer_awaited);
        self.answer_awaited = false;
    }
}
