//! The slices of a run as far as they say why, block by block.

use std::collections::BTreeMap;
use std::io;

use ciphertax_base::{CpuTime, counter};
use ciphertax_model::Cell;
use ciphertax_records::why::{Look, ProfiledSide};
use ciphertax_records::{Head, Sample, Samples, SliceId};

/// What one valid slice yielded and took.
#[derive(Debug, Clone)]
pub struct Slice {
    /// How it was looked into; `None` of one that was not.
    pub look: Option<Look>,
    /// Above zero.
    pub operations: f64,
    /// Measured time in nanoseconds.
    pub duration_ns: f64,
    /// Of the load threads.
    pub client_cpu: CpuTime,
    /// CPUs that the load threads may use; 0 where that is not known.
    pub workers: u32,
    /// Without the relay's; `None` where it cannot be seen.
    pub server_cpu: Option<CpuTime>,
    /// Of tunnel, pooler, and the relay that encrypts cells.
    pub beside_cpu_ns: u64,
    /// How long the server's threads waited for a CPU.
    pub server_wait_ns: Option<u64>,
    /// CPU time of this machine that nobody used.
    pub idle_ns: Option<u64>,
    /// Waits that the server counts, by its own names, in nanoseconds of all sessions together.
    pub waited_ns: Vec<(String, f64)>,
}

/// The slices of one cell that count. Arms are known by their index: 0 is the baseline, 1 the baseline again.
pub struct CellSlices<'a> {
    /// As the study has it.
    pub cell: &'a Cell,
    /// Their names.
    pub arms: Vec<String>,
    /// By number; within a block by arm.
    pub blocks: BTreeMap<u32, Vec<Option<Slice>>>,
}

impl Slice {
    fn of(sample: &Sample) -> Self {
        let (load, server) = (&sample.load, &sample.server);
        let total = |cpu: Option<CpuTime>| cpu.map_or(0, |cpu| cpu.total_ns);
        Self {
            look: sample.look,
            operations: load.operation_count() as f64,
            duration_ns: load.duration_ns as f64,
            client_cpu: load.client_cpu,
            workers: load.workers,
            // Nobody looks into the relay.
            server_cpu: server
                .server_cpu
                .map(|cpu| cpu.since(&server.column_relay_cpu.unwrap_or_default())),
            beside_cpu_ns: [server.tunnel_cpu, server.pooler_cpu, server.column_relay_cpu]
                .map(total)
                .into_iter()
                .fold(0, u64::saturating_add),
            server_wait_ns: server.server_run_queue_wait_ns,
            idle_ns: server.cpu_idle_ns,
            waited_ns: counter::waited_us(&server.server_counters)
                .filter(|(_, us)| *us > 0)
                .map(|(event, us)| (event.to_owned(), us as f64 * 1e3))
                .collect(),
        }
    }

    /// CPU time of a side by the meters; `None` where it cannot be seen.
    pub fn cpu(&self, side: ProfiledSide) -> Option<CpuTime> {
        match side {
            ProfiledSide::Server => self.server_cpu,
            ProfiledSide::Client => Some(self.client_cpu),
        }
    }

    /// So many nanoseconds of the slice as microseconds of an operation.
    pub fn us_of(&self, ns: f64) -> f64 {
        ns / 1e3 / self.operations
    }
}

impl CellSlices<'_> {
    /// The slice of an arm in a block, if it counts.
    pub fn get(&self, block: u32, arm: usize) -> Option<&Slice> {
        self.blocks.get(&block)?.get(arm)?.as_ref()
    }
}

/// The slices of every cell.
pub fn read<'a>(head: &'a Head, samples: &(impl Samples + ?Sized)) -> io::Result<Vec<CellSlices<'a>>> {
    let study = &head.study;
    let of_cell = |cell: &'a Cell| CellSlices {
        cell,
        arms: study
            .measured_arms_of(cell)
            .into_iter()
            .map(|arm| arm.name)
            .collect(),
        blocks: BTreeMap::new(),
    };
    let mut cells: Vec<CellSlices<'_>> = study.cells.iter().map(of_cell).collect();
    for index in 0..samples.count() {
        let sample = samples.get(index)?;
        if !sample.is_valid() || sample.load.operation_count() == 0 {
            continue;
        }
        if let Some((cell, arm)) = place(&cells, &sample.slice) {
            let cell = &mut cells[cell];
            let empty = || cell.arms.iter().map(|_| None).collect();
            cell.blocks.entry(sample.slice.block).or_insert_with(empty)[arm] = Some(Slice::of(&sample));
        }
    }
    Ok(cells)
}

/// Which cell and which arm a slice is of.
pub fn place(cells: &[CellSlices<'_>], slice: &SliceId) -> Option<(usize, usize)> {
    let cell = cells.iter().position(|cell| cell.cell.name == slice.cell)?;
    Some((cell, cells[cell].arms.iter().position(|arm| *arm == slice.arm)?))
}

/// What the server that an arm was measured on says of its product and version; empty where it is not known.
pub fn product(head: &Head, cell: &Cell, arm: &str) -> String {
    let of_cell = || {
        let servers = head.servers.iter();
        servers.filter(|server| server.cells.contains(&cell.name))
    };
    let sessions = head.arms.iter().filter(|record| record.name == arm);
    let mut sessions = sessions.flat_map(|record| &record.sessions);
    let of_arm = sessions.find_map(|session| of_cell().find(|server| server.id == session.server_id));
    let Some(server) = of_arm.or_else(|| of_cell().next()) else {
        return String::new();
    };
    match server.version.contains(&server.product) {
        true => server.version.clone(),
        false => format!("{} {}", server.product, server.version),
    }
}
