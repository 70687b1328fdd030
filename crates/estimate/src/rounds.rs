//! Whole rounds (what a server used between its slices too, by the operations of its own), memory and disk, and which
//! blocks were looked into.

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_base::counter;
use ciphertax_model::{Metric, Profiling};
use ciphertax_records::{Head, Round, RoundOfArm, RoundsOfCell, Sample, StorageRow};

use crate::cell::CellSamples;

/// What is known of the rounds of a cell; nothing where arms do not differ at rest.
#[derive(Default)]
pub struct Rounds {
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
pub struct Pages {
    /// Read from storage.
    pub read: Option<i64>,
    /// Written to it.
    pub written: Option<i64>,
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
pub struct OfRound {
    server_cpu_ns: Option<u64>,
    /// CPU time of who works for the file system, in nanoseconds.
    pub file_system_cpu_ns: Option<u64>,
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
    pub fn of_metric(&self, metric: Metric) -> Option<u64> {
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

/// What every arm had in memory, and what it read and wrote of the rest.
pub(crate) fn storage(head: &Head, cells: &[CellSamples<'_>]) -> Vec<StorageRow> {
    let of_cell = |cell: &CellSamples<'_>| {
        let rows = (0..cell.arms.len()).filter_map(|arm| row(head, cell, arm));
        rows.collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}

/// `None` where nothing is known.
fn row(head: &Head, cell: &CellSamples<'_>, arm: usize) -> Option<StorageRow> {
    let name = &cell.arms[arm];
    let mut records = head.data_sizes.iter();
    let data = records.find(|record| record.cell == cell.cell.name && record.arm == *name);
    let totals = cell.totals(arm);
    // What is written later is written too.
    let counters = cell.rounds.counters(arm).unwrap_or(&totals.counters);
    let per_operation = |name| {
        let (rose, operations) = counters.get(name)?;
        (*operations > 0).then(|| *rose as f64 / *operations as f64)
    };
    let pages_read = per_operation(counter::PAGES_READ);
    let hit_rate = |read| counter::hit_rate(read, per_operation(counter::PAGES_REQUESTED)?);
    let row = StorageRow {
        cell: String::new(),
        arm: String::new(),
        data_bytes: data.map(|data| data.data_bytes),
        disk_bytes: data.map(|data| data.disk_bytes),
        memory_bytes: data.map(|data| data.memory_bytes),
        data_to_memory: data.map(|data| data.data_to_memory()),
        hit_rate: pages_read.and_then(hit_rate),
        pages_read,
        pages_written: per_operation(counter::PAGES_WRITTEN),
        log_bytes: per_operation(counter::LOG_BYTES),
        device_busy: totals.device.map(|device| device.busy()),
        device_bytes_per_s: totals.device.map(|device| device.bytes_per_s()),
    };
    (row != StorageRow::default()).then(|| StorageRow {
        cell: cell.cell.name.clone(),
        arm: name.clone(),
        ..row
    })
}

/// The blocks of a cell that were looked into, as its forecast must know them: they are no part of what a feature
/// costs, but they take time.
#[derive(Default)]
pub(crate) struct Looked {
    blocks: BTreeSet<u32>,
    void_slices: u32,
}

impl Looked {
    /// Takes note of a slice that was looked into.
    pub(crate) fn add(&mut self, sample: &Sample) {
        self.blocks.insert(sample.slice.block);
        self.void_slices += u32::from(!sample.is_valid());
    }

    /// True if a slice of this block was looked into.
    pub(crate) fn has(&self, block: u32) -> bool {
        self.blocks.contains(&block)
    }

    /// Those of them that do not count.
    pub(crate) fn void_slices(&self) -> u32 {
        self.void_slices
    }

    /// How many blocks run until so many more are measured. Before the first that is looked into it is not known whether any will
    /// be.
    pub(crate) fn blocks_with(&self, more: u32) -> f64 {
        if self.blocks.is_empty() {
            return f64::from(more);
        }
        let one_in = f64::from(Profiling::ONE_BLOCK_IN);
        f64::from(more) * one_in / (one_in - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_one_was_looked_into_three_blocks_of_four_are_measured() {
        assert_eq!(Looked::default().blocks_with(30), 30.0);
        let looked = Looked {
            blocks: [7, 10].into(),
            void_slices: 0,
        };
        assert_eq!(looked.blocks_with(30), 40.0);
    }
}
