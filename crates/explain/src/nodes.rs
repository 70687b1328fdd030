//! Whose the server's CPU time is, where several servers hold the same data.

use ciphertax_records::Sample;

/// Of the slices of a cell's baseline that count.
#[derive(Default)]
pub(crate) struct Nodes {
    operations: u64,
    pub(crate) slices: u32,
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
    pub(crate) fn each_us(&self) -> Option<Vec<f64>> {
        let per_operation = |cpu_ns: &u64| *cpu_ns as f64 / 1e3 / self.operations as f64;
        (self.operations > 0).then(|| self.cpu_ns.iter().map(per_operation).collect())
    }
}
