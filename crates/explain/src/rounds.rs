//! Whole rounds: what a server used between its slices too, by the operations of its own.

use std::collections::BTreeMap;

use ciphertax_model::Metric;
use ciphertax_records::{Round, RoundOfArm, RoundsOfCell, Sample, counter};

/// What is known of the rounds of a cell; nothing where arms do not differ at rest.
#[derive(Default)]
pub(crate) struct Rounds {
    /// Seconds that each took.
    seconds: Vec<f64>,
    /// Slices with a quiet phase before them.
    slices: u32,
    disturbed: u32,
    dropped: u32,
    /// How long the quiet phases were together, in nanoseconds.
    waited_ns: u64,
    /// By arm, the servers' own counters: by how much they rose, and the operations meanwhile.
    counters: BTreeMap<usize, BTreeMap<String, (i64, u64)>>,
}

impl Rounds {
    pub(crate) fn add(&mut self, round: &Round) {
        self.seconds.push(round.duration_ns as f64 / 1e9);
    }

    /// Takes note of what an arm's server counted over a round in which its slice is valid.
    pub(crate) fn add_counters(&mut self, arm: usize, round: &RoundOfArm, operations: u64) {
        let counters = self.counters.entry(arm).or_default();
        for (name, rose) in &round.server_counters {
            let (sum, all) = counters.entry(name.clone()).or_default();
            *sum += rose;
            *all += operations;
        }
    }

    /// What an arm's server counted, by how much and in how many operations; `None` where there are no rounds.
    pub(crate) fn counters(&self, arm: usize) -> Option<&BTreeMap<String, (i64, u64)>> {
        self.counters.get(&arm)
    }

    pub(crate) fn add_slice(&mut self, sample: &Sample) {
        if let Some(quiet) = sample.quiet {
            self.slices += 1;
            self.disturbed += u32::from(sample.is_disturbed());
            self.dropped += u32::from(sample.left_cached.is_some());
            self.waited_ns = self.waited_ns.saturating_add(quiet.waited_ns);
        }
    }

    pub(crate) fn are_there(&self) -> bool {
        !self.seconds.is_empty()
    }

    /// Seconds that a round takes; `None` before there are two.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let count = self.seconds.len();
        (count > 1).then(|| self.seconds.iter().sum::<f64>() / count as f64)
    }

    /// How quiet it was between the slices; `None` where there are no rounds.
    pub(crate) fn record(&self) -> Option<RoundsOfCell> {
        self.are_there().then(|| RoundsOfCell {
            slices: self.slices,
            disturbed: self.disturbed,
            dropped: self.dropped,
            quiet_s: self.waited_ns as f64 / 1e9 / f64::from(self.slices.max(1)),
        })
    }
}

/// Pages that a server moved; `None` where it does not tell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages {
    pub(crate) read: Option<i64>,
    pub(crate) written: Option<i64>,
}

impl Pages {
    pub(crate) fn of(counters: &BTreeMap<String, i64>) -> Self {
        Self {
            read: counters.get(counter::PAGES_READ).copied(),
            written: counters.get(counter::PAGES_WRITTEN).copied(),
        }
    }
}

/// What one arm's server used in a round, as far as it could be seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfRound {
    server_cpu_ns: Option<u64>,
    pub(crate) file_system_cpu_ns: Option<u64>,
    kernel_workers_cpu_ns: Option<u64>,
    bytes_written: Option<u64>,
    bytes_read: Option<u64>,
    /// Those of its slice and those that were moved before and after it.
    pub(crate) pages: Pages,
}

impl OfRound {
    pub(crate) fn of(round: &RoundOfArm) -> Self {
        Self {
            server_cpu_ns: round.server_cpu.map(|cpu| cpu.total_ns),
            file_system_cpu_ns: round.file_system_cpu.map(|cpu| cpu.total_ns),
            kernel_workers_cpu_ns: round.kernel_workers_cpu_ns,
            bytes_written: round.bytes_written,
            bytes_read: round.bytes_read,
            pages: Pages::of(&round.server_counters),
        }
    }

    /// Nanoseconds or bytes of a metric of rounds; `None` where it was not seen.
    pub(crate) fn of_metric(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::ServerCpuRoundPerOp => self.server_cpu_ns,
            Metric::FileSystemCpuPerOp => self.file_system_cpu_ns,
            // A file system without anybody of its own takes nothing.
            Metric::ServerAndFileSystemCpuPerOp => self
                .server_cpu_ns?
                .checked_add(self.file_system_cpu_ns.unwrap_or(0)),
            Metric::KernelWorkersCpuPerOp => self.kernel_workers_cpu_ns,
            Metric::StorageWrittenPerOp => self.bytes_written,
            Metric::StorageReadPerOp => self.bytes_read,
            _ => None,
        }
    }
}
