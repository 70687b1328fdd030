//! What goes over a connection, counted.

use std::time::Instant;

use ciphertax_records::PhaseTrace;

use crate::error::WireError;

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
    pub(crate) fn received(&mut self, count: usize) -> Result<usize, WireError> {
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
