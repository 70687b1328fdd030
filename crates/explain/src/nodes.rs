//! Whose the server's CPU time is, where several servers hold the same data.

use ciphertax_records::Sample;

/// Of the slices of a cell that count, each arm by its index.
#[derive(Default)]
pub(crate) struct Nodes {
    arms: Vec<OfArm>,
}

#[derive(Default)]
struct OfArm {
    operations: u64,
    slices: u32,
    /// Of each server, in the order of their start.
    cpu_ns: Vec<u64>,
}

/// What the servers of an arm used for an operation.
pub(crate) struct OfNodes {
    /// Of each, in microseconds, in the order of their start.
    pub(crate) each_us: Vec<f64>,
    pub(crate) slices: u32,
}

impl OfNodes {
    /// The part of each in all.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let all: f64 = self.each_us.iter().sum();
        self.each_us.iter().map(|each| each / all).collect()
    }
}

impl Nodes {
    /// Those of a slice in which a server was lost are not known.
    pub(crate) fn add(&mut self, arm: usize, sample: &Sample) {
        let each = &sample.server.server_cpu_of_each_ns;
        let each: Option<Vec<u64>> = each.iter().copied().collect();
        let Some(each) = each.filter(|each| !each.is_empty() && sample.is_valid()) else {
            return;
        };
        if self.arms.len() <= arm {
            self.arms.resize_with(arm + 1, OfArm::default);
        }
        let of_arm = &mut self.arms[arm];
        of_arm.cpu_ns.resize(of_arm.cpu_ns.len().max(each.len()), 0);
        for (sum, cpu_ns) in of_arm.cpu_ns.iter_mut().zip(each) {
            *sum += cpu_ns;
        }
        of_arm.operations += sample.load.operations.iter().map(|kind| kind.count).sum::<u64>();
        of_arm.slices += 1;
    }

    /// `None` for a single server.
    pub(crate) fn of(&self, arm: usize) -> Option<OfNodes> {
        let of_arm = self.arms.get(arm).filter(|of_arm| of_arm.operations > 0)?;
        let per_operation = |cpu_ns: &u64| *cpu_ns as f64 / 1e3 / of_arm.operations as f64;
        Some(OfNodes {
            each_us: of_arm.cpu_ns.iter().map(per_operation).collect(),
            slices: of_arm.slices,
        })
    }
}
