//! The cells of a run whose loads are ready.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ciphertax_model::{Arm, Cell, Study};
use ciphertax_observe::SystemCpu;
use ciphertax_reactor::stop;
use ciphertax_records::why::SymbolTable;
use ciphertax_records::{DataSize, QuietPhase, Round, Yield};

use super::round::RoundClocks;
use super::slice::SliceMeter;
use crate::error::Result;
use crate::load::Load;
use crate::look::Looker;
use crate::meter::ServedBy;
use crate::progress::Progress;
use crate::schedule::{Measure, Measured, PlannedSlice};
use crate::servers::{Servers, ServersByArm};

/// A cell whose load is ready: its connections are open, or its program works.
pub(crate) struct OpenCell {
    /// Index of its servers.
    servers: usize,
    load: Box<dyn Load>,
    seed: u64,
    /// How long its connections take to open.
    opening: Duration,
    /// When they were opened, since the run began, and blocks since.
    opened_at: Duration,
    blocks: u32,
}

/// Sets of connections that a run measures with, where opening them takes no time that counts: what is peculiar to one, such as the
/// window that TCP has found for it, then varies within the run, and the interval knows it.
const SETS_OF_CONNECTIONS: u32 = 10;
/// Blocks that one set is used for at least, since its first slices warm up.
const FEWEST_BLOCKS_OF_A_SET: u32 = 5;
/// The part of the time that opening may take.
const MOST_OPENING: f64 = 0.02;

impl OpenCell {
    /// Starts the load threads and opens the connections of every arm, or tries the program on every arm. `index` is
    /// that of the `servers`.
    pub(crate) fn open(
        study: &Study,
        cell: &Cell,
        (index, servers): (usize, &mut dyn Servers),
        seed: u64,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        let arms = study.measured_arms_of(cell);
        let mut load = servers.start(study, cell, &arms, seed, go_on)?;
        let began = Instant::now();
        for arm in 0..arms.len() {
            go_on()?;
            // A connection that cannot be opened makes the first slice void, with its reason.
            drop(load.prepare(arm)?);
        }
        Ok(Self {
            servers: index,
            load,
            seed,
            opening: began.elapsed(),
            opened_at: Duration::ZERO,
            blocks: 0,
        })
    }

    /// Opens the connections of all arms anew, where it is time to.
    fn renew(&mut self, arms: usize, elapsed: Duration, time: Duration) -> Result<()> {
        let due = elapsed.saturating_sub(self.opened_at) >= time / SETS_OF_CONNECTIONS;
        self.blocks += 1;
        let takes = self.opening * SETS_OF_CONNECTIONS;
        if !due || self.blocks <= FEWEST_BLOCKS_OF_A_SET || takes > time.mul_f64(MOST_OPENING) {
            return Ok(());
        }
        for arm in 0..arms {
            self.load.close(arm)?;
        }
        for arm in 0..arms {
            drop(self.load.prepare(arm)?);
        }
        (self.opened_at, self.blocks) = (elapsed, 0);
        Ok(())
    }
}

/// Measures the cells of a run on real servers.
pub(crate) struct Cells<'a> {
    study: &'a Study,
    servers: &'a mut [Box<dyn Servers>],
    /// In the order of the study.
    open: Vec<OpenCell>,
    pub(crate) looker: Option<Looker>,
    /// Nothing, where nothing is looked into.
    no_symbols: SymbolTable,
    /// When the run began. The time in which servers come to rest before their first round is left out.
    began: Instant,
    /// By the index of the servers: of cells whose arms differ at rest.
    clocks: BTreeMap<usize, RoundClocks>,
    /// The names of cells with more data than memory.
    larger_than_memory: BTreeSet<String>,
}

impl<'a> Cells<'a> {
    /// Those of a study, in its order, on these servers.
    pub(crate) fn new(
        study: &'a Study,
        servers: &'a mut [Box<dyn Servers>],
        open: Vec<OpenCell>,
        sizes: &[DataSize],
        looker: Option<Looker>,
        began: Instant,
    ) -> Self {
        let larger = sizes.iter().filter(|size| size.data_bytes > size.memory_bytes);
        Self {
            larger_than_memory: larger.map(|size| size.cell.clone()).collect(),
            study,
            servers,
            open,
            looker,
            no_symbols: SymbolTable::default(),
            began,
            clocks: BTreeMap::new(),
        }
    }

    /// True if the kernel has to forget what it keeps of a cell's files before each slice: what its servers have not in their
    /// own memory they read there, and how much the kernel has of it would differ from arm to arm.
    fn drops_cached(&mut self, cell: usize) -> bool {
        if !self.has_rounds(cell) || !self.larger_than_memory.contains(&self.study.cells[cell].name) {
            return false;
        }
        let (_, servers, arms) = self.of_round(cell);
        arms.iter()
            .any(|arm| servers.server(arm).reads_through_page_cache())
    }

    /// The clocks of a cell's servers, those servers, and its arms.
    fn of_round(&mut self, cell: usize) -> (&mut RoundClocks, &mut dyn ServersByArm, Vec<String>) {
        let index = self.open[cell].servers;
        let clocks = self.clocks.entry(index);
        let arms = self.study.measured_arms_of(&self.study.cells[cell]);
        (
            clocks.or_insert_with(RoundClocks::new),
            &mut *self.servers[index],
            arms.into_iter().map(|arm| arm.name).collect(),
        )
    }
}

impl Measure for Cells<'_> {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn wait(&mut self, time: Duration) {
        stop::sleep(time);
    }

    fn is_stopped(&self) -> bool {
        stop::is_requested()
    }

    fn begin_block(&mut self, cell: usize) -> Result<()> {
        let distances = self.study.distances(&self.study.cells[cell]);
        self.servers[self.open[cell].servers].set_distances(distances)?;
        if self.has_rounds(cell) {
            let (clocks, servers, arms) = self.of_round(cell);
            let rest = clocks.begin(servers, &arms);
            self.began += rest;
            return Ok(());
        }
        let arms = self.study.measured_arms_of(&self.study.cells[cell]);
        let OpenCell { servers, .. } = self.open[cell];
        let mut arms_of_cell = arms.iter();
        // What a database in this process has in memory would go with its connections.
        if arms_of_cell.any(|arm| self.servers[servers].server(&arm.name).is_embedded()) {
            return Ok(());
        }
        let time = Duration::from_secs_f64(self.study.time_s);
        self.open[cell].renew(arms.len(), self.began.elapsed(), time)
    }

    fn restore(&mut self, cell: usize, progress: &mut dyn Progress) -> Result<()> {
        let began = Instant::now();
        let servers = &mut self.servers[self.open[cell].servers];
        if servers.restore_grown(progress)? {
            self.began += began.elapsed();
        }
        Ok(())
    }

    fn has_rounds(&self, cell: usize) -> bool {
        self.study.differs_at_rest() && self.servers[self.open[cell].servers].work_between_slices()
    }

    fn counts_in_ticks(&mut self, cell: usize) -> bool {
        let asked = &self.study.cells[cell];
        let servers = &mut self.servers[self.open[cell].servers];
        let mut arms = self.study.measured_arms_of(asked).into_iter();
        let ends_processes =
            |arm: Arm| arm.tunnel.is_some() || servers.server(&arm.name).served_by() == ServedBy::Processes;
        asked.workload.makes_connections() && arms.any(ends_processes)
    }

    fn quiet(&mut self, cell: usize, next: Option<&PlannedSlice<'_>>) -> QuietPhase {
        let asked = &self.study.cells[cell];
        // Nobody knows what a program does.
        let writes = asked.command.is_some() || asked.workload.descriptor().writes;
        let (clocks, servers, mut arms) = self.of_round(cell);
        // What its own server still does is its own in any case.
        arms.retain(|arm| next.is_none_or(|next| next.arm.name != *arm));
        clocks.quiet(servers, &arms, writes)
    }

    fn end_round(&mut self, cell: usize, block: u32, quiet: QuietPhase) -> Round {
        let (study, began) = (self.study, self.began);
        let name = &study.cells[cell].name;
        let (clocks, servers, arms) = self.of_round(cell);
        clocks.end(servers, &arms, (name, block), began, quiet)
    }

    fn symbols(&self) -> &SymbolTable {
        self.looker
            .as_ref()
            .map_or(&self.no_symbols, |looker| &looker.symbols)
    }

    fn slice(&mut self, cell: usize, slice: &PlannedSlice<'_>) -> Result<Measured> {
        if self.has_rounds(cell) {
            let (clocks, servers, arms) = self.of_round(cell);
            clocks.begin_turn(servers, &arms, &slice.arm.name);
        }
        let left_cached = match self.drops_cached(cell) {
            true => {
                let (clocks, servers, _) = self.of_round(cell);
                clocks.drop_cached(servers, &slice.arm.name)
            }
            false => None,
        };
        let OpenCell {
            servers, load, seed, ..
        } = &mut self.open[cell];
        let servers = &mut self.servers[*servers];
        if slice.cell.command.is_some() {
            servers.remind(&slice.arm.name);
        }
        let mut meter = SliceMeter {
            server: servers.server(&slice.arm.name),
            load: load.as_mut(),
            looker: self.looker.as_mut(),
            machine: &SystemCpu::now,
            began: self.began,
            seed: *seed,
        };
        let mut measured = match meter.slice(slice) {
            Ok(measured) => measured,
            Err(error) => {
                // Something may have been asked all the same.
                servers.count_transactions(self.study, slice, &Yield::default(), None);
                return Err(error);
            }
        };
        servers.count_transactions(self.study, slice, &measured.sample.load, measured.unfinished);
        if self.has_rounds(cell) {
            let (clocks, servers, _) = self.of_round(cell);
            measured.sample.others_worked = clocks.others_worked(servers);
        }
        measured.sample.left_cached = left_cached;
        Ok(measured)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use ciphertax_engine::Failure;

    use super::*;
    use crate::load::Slice;

    /// What was closed (true) and opened of which arm.
    type Done = Rc<RefCell<Vec<(bool, usize)>>>;

    struct Watched(Done);

    impl Load for Watched {
        fn workers(&self) -> u32 {
            1
        }

        fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>> {
            self.0.borrow_mut().push((false, arm));
            Ok(Ok(()))
        }

        fn close(&mut self, arm: usize) -> Result<()> {
            self.0.borrow_mut().push((true, arm));
            Ok(())
        }

        fn slice(&mut self, _: usize, _: Duration, _: u64) -> Result<Slice> {
            Err(crate::error::RunError::Stopped)
        }
    }

    /// How often the connections of two arms are opened anew in 200 blocks of half a second, if opening them takes so long.
    fn renewed(opening_ms: u64) -> usize {
        let done = Done::default();
        let mut cell = OpenCell {
            servers: 0,
            load: Box::new(Watched(Rc::clone(&done))),
            seed: 1,
            opening: Duration::from_millis(opening_ms),
            opened_at: Duration::ZERO,
            blocks: 0,
        };
        for block in 0..200 {
            let elapsed = Duration::from_millis(500 * block);
            cell.renew(2, elapsed, Duration::from_secs(100)).unwrap();
        }
        let done = done.borrow();
        assert!(
            done.chunks(4)
                .all(|each| *each == [(true, 0), (true, 1), (false, 0), (false, 1)])
        );
        done.len() / 4
    }

    #[test]
    fn ten_sets_of_connections_share_a_run_unless_opening_them_takes_time_that_counts() {
        assert_eq!(renewed(20), 9);
        assert_eq!(renewed(200), 9);
        assert_eq!(renewed(201), 0);
    }
}
