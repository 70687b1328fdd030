//! What the slices of one arm in one cell add up to.

use std::collections::BTreeMap;

use ciphertax_records::{AuthenticationFacts, Handshakes, Sample};

/// What the slices of one arm add up to.
#[derive(Default)]
pub(crate) struct Totals {
    /// Of all slices, also of void ones.
    pub(crate) logins: BTreeMap<AuthenticationFacts, u64>,
    /// Of those that count.
    pub(crate) counted_logins: BTreeMap<AuthenticationFacts, u64>,
    /// Of those that count.
    pub(crate) handshakes: Option<Handshakes>,
    /// The server's own counters, over valid slices: by how much they rose, and the operations of the slices that have them.
    pub(crate) counters: BTreeMap<String, (i64, u64)>,
    /// What the device under the server did in those that count and tell it.
    pub(crate) device: Option<DeviceTotal>,
}

/// What a device did.
#[derive(Clone, Copy, Default)]
pub(crate) struct DeviceTotal {
    busy_ns: u64,
    bytes: u64,
    /// The time in which it did.
    meanwhile_ns: u64,
}

impl DeviceTotal {
    /// The part of the time in which it had something to do.
    pub(crate) fn busy(&self) -> f64 {
        // Its clock and the slice's are not read at the same moment.
        (self.busy_ns as f64 / (self.meanwhile_ns as f64).max(1.0)).min(1.0)
    }

    /// Bytes read and written per second.
    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / (self.meanwhile_ns as f64 / 1e9).max(1e-9)
    }
}

impl Totals {
    /// Adds a slice; `counts` is true for one that counts.
    pub(crate) fn add(&mut self, sample: &Sample, counts: bool) {
        for (login, count) in &sample.load.logins {
            *self.logins.entry(login.clone()).or_default() += count;
            if counts {
                *self.counted_logins.entry(login.clone()).or_default() += count;
            }
        }
        if let Some(more) = sample.load.handshakes.filter(|_| counts) {
            *self.handshakes.get_or_insert_default() += more;
        }
        if !sample.is_valid() {
            return;
        }
        if let Some(device) = &sample.server.device {
            let total = self.device.get_or_insert_default();
            total.busy_ns += device.busy_ns;
            total.bytes += device.read_bytes + device.written_bytes;
            total.meanwhile_ns += sample.load.duration_ns;
        }
        for (name, rose) in &sample.server.server_counters {
            let (sum, operations) = match self.counters.get_mut(name) {
                Some(counter) => counter,
                None => self.counters.entry(name.clone()).or_default(),
            };
            *sum += rose;
            *operations += sample.load.operation_count();
        }
    }
}
