//! The cells of a run whose loads are ready.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ciphertax_model::{Arm, Cell, Resumption, Study};
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

/// Blocks that one set of connections is used for: what is peculiar to a set, such as the window that TCP has found for it, then varies
/// within a run, and the interval knows it. Fewer would make more of a set's first slices, which warm up.
const BLOCKS_OF_A_SET: u32 = 8;
/// Opening them anew takes a fiftieth of the time at most.
const TIMES_AS_LONG_AS_OPENING: u32 = 50;

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

    /// Opens the connections of all arms anew, where it is time to. `cells` are as many as share the time.
    fn renew(&mut self, arms: usize, cells: usize, elapsed: Duration) -> Result<()> {
        self.blocks += 1;
        let least = self.opening * TIMES_AS_LONG_AS_OPENING * cells as u32;
        if self.blocks <= BLOCKS_OF_A_SET || elapsed.saturating_sub(self.opened_at) < least {
            return Ok(());
        }
        (self.opened_at, self.blocks) = (elapsed, 1);
        let began = Instant::now();
        for arm in 0..arms {
            if !self.load.close(arm)? {
                return Ok(());
            }
        }
        for arm in 0..arms {
            drop(self.load.prepare(arm)?);
        }
        self.opening = began.elapsed();
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
        let servers = self.open[cell].servers;
        // What a database in this process has in memory goes with its connections; sessions that are taken up may grow too old.
        let mut keeps = |arm: &Arm| {
            arm.tls.resumption != Resumption::Off || self.servers[servers].server(&arm.name).is_embedded()
        };
        if arms.iter().any(&mut keeps) {
            return Ok(());
        }
        let (cells, elapsed) = (self.open.len(), self.began.elapsed());
        self.open[cell].renew(arms.len(), cells, elapsed)
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

        fn close(&mut self, arm: usize) -> Result<bool> {
            self.0.borrow_mut().push((true, arm));
            Ok(true)
        }

        fn slice(&mut self, _: usize, _: Duration, _: u64) -> Result<Slice> {
            Err(crate::error::RunError::Stopped)
        }
    }

    /// How often the connections of two arms are opened anew in 200 blocks of half a second, if opening them took so long at first.
    fn renewed(opening: Duration) -> usize {
        let done = Done::default();
        let mut cell = OpenCell {
            servers: 0,
            load: Box::new(Watched(Rc::clone(&done))),
            seed: 1,
            opening,
            opened_at: Duration::ZERO,
            blocks: 0,
        };
        for block in 0..200 {
            let elapsed = Duration::from_millis(500 * block);
            cell.renew(2, 3, elapsed).unwrap();
        }
        let done = done.borrow();
        let each = [(true, 0), (true, 1), (false, 0), (false, 1)];
        assert!(done.chunks(4).all(|found| *found == each));
        done.len() / 4
    }

    #[test]
    fn connections_are_opened_anew_after_eight_blocks_unless_that_takes_time_that_counts() {
        assert_eq!(renewed(Duration::ZERO), 24);
        // Three cells share the time, of which a fiftieth is 2 s of 300.
        assert_eq!(renewed(Duration::from_millis(700)), 0);
    }
}
