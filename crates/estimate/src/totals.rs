//! What slices add up to: those of one arm in one cell, of each of several load generators, and of each of several servers.

use std::collections::BTreeMap;

use ciphertax_base::AuthenticationFacts;
use ciphertax_records::{Handshakes, RankShare, Sample};

/// What the slices of one arm add up to.
#[derive(Default)]
pub struct Totals {
    /// Of all slices, also of void ones.
    pub logins: BTreeMap<AuthenticationFacts, u64>,
    /// Of those that count.
    pub counted_logins: BTreeMap<AuthenticationFacts, u64>,
    /// Of those that count.
    pub handshakes: Option<Handshakes>,
    /// The server's own counters, over valid slices: by how much they rose, and the operations of the slices that have them.
    pub counters: BTreeMap<String, (i64, u64)>,
    /// What the device under the server did in those that count and tell it.
    pub device: Option<DeviceTotal>,
}

/// What a device did.
#[derive(Clone, Copy, Default)]
pub struct DeviceTotal {
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

/// What several load generators did of a cell, one by one, in the slices that count.
#[derive(Default)]
pub struct Ranks {
    slices: u32,
    /// The furthest that they began apart in a slice, in nanoseconds.
    pub began_apart_ns: u64,
    /// In how many slices each was the bottleneck.
    bound: BTreeMap<u32, u32>,
}

impl Ranks {
    pub(crate) fn add(&mut self, sample: &Sample) {
        let shares = &sample.load.ranks;
        if shares.is_empty() || !sample.is_valid() {
            return;
        }
        self.slices += 1;
        let apart = shares.iter().map(|share| share.began_after_ns).max();
        self.began_apart_ns = self.began_apart_ns.max(apart.unwrap_or(0));
        for RankShare { rank, .. } in shares.iter().filter(|share| share.client_bound) {
            *self.bound.entry(*rank).or_default() += 1;
        }
    }

    /// True if several load generators made its load.
    pub fn are_many(&self) -> bool {
        self.slices > 0
    }

    /// Those that were the bottleneck in more than half of the slices.
    pub fn bottlenecks(&self) -> Vec<u32> {
        let most = self.bound.iter().filter(|(_, slices)| **slices * 2 > self.slices);
        most.map(|(rank, _)| *rank).collect()
    }
}

/// Whose the server's CPU time is, where several servers hold the same data: of the slices of a cell's baseline that
/// count.
#[derive(Default)]
pub struct Nodes {
    operations: u64,
    /// How many slices tell it.
    pub slices: u32,
    /// Of each server, in the order of their start; none for a single server.
    cpu_ns: Vec<u64>,
}

impl Nodes {
    /// Those of a slice in which a server was lost are not known.
    pub(crate) fn add(&mut self, sample: &Sample) {
        let each = &sample.server.server_cpu_of_each_ns;
        let each: Option<Vec<u64>> = each.iter().copied().collect();
        let Some(each) = each.filter(|each| !each.is_empty() && sample.is_valid()) else {
            return;
        };
        self.cpu_ns.resize(self.cpu_ns.len().max(each.len()), 0);
        for (sum, cpu_ns) in self.cpu_ns.iter_mut().zip(each) {
            *sum += cpu_ns;
        }
        self.operations += sample.load.operation_count();
        self.slices += 1;
    }

    /// What each server used for an operation, in microseconds; `None` for a single server.
    pub fn each_us(&self) -> Option<Vec<f64>> {
        let per_operation = |cpu_ns: &u64| *cpu_ns as f64 / 1e3 / self.operations as f64;
        (self.operations > 0).then(|| self.cpu_ns.iter().map(per_operation).collect())
    }
}
