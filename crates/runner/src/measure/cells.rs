//! The cells of a run whose loads are ready.

use std::time::{Duration, Instant};

use ciphertax_model::{Cell, Study};
use ciphertax_observe::SystemCpu;
use ciphertax_reactor::stop;

use super::slice::SliceMeter;
use crate::error::RunError;
use crate::load::Load;
use crate::schedule::{Measure, Measured, PlannedSlice};
use crate::servers::Servers;

/// A cell whose load is ready: its connections are open, or its program works.
pub(crate) struct OpenCell {
    /// Index of its servers.
    servers: usize,
    load: Box<dyn Load>,
}

impl OpenCell {
    /// Starts the load threads and opens the connections of every arm, or tries the program on every arm. `index` is
    /// that of the `servers`.
    ///
    /// # Errors
    /// If there are no load threads, or the program does not work.
    pub(crate) fn open(
        study: &Study,
        cell: &Cell,
        (index, servers): (usize, &mut dyn Servers),
        seed: u64,
        go_on: &dyn Fn() -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let arms = study.measured_arms_of(cell);
        let mut load = servers.start(study, cell, &arms, seed, go_on)?;
        for arm in 0..arms.len() {
            go_on()?;
            // A connection that cannot be opened makes the first slice void, with its reason.
            drop(load.prepare(arm)?);
        }
        Ok(Self { servers: index, load })
    }
}

/// Measures the cells of a run on real servers.
pub(crate) struct Cells<'a> {
    pub(crate) study: &'a Study,
    pub(crate) servers: &'a mut [Box<dyn Servers>],
    /// In the order of the study.
    pub(crate) open: Vec<OpenCell>,
    /// When the run began.
    pub(crate) began: Instant,
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

    fn begin_block(&mut self, cell: usize) -> Result<(), RunError> {
        let distance = self.study.link(&self.study.cells[cell]);
        self.servers[self.open[cell].servers].set_distance(distance)
    }

    fn slice(&mut self, cell: usize, slice: &PlannedSlice<'_>) -> Result<Measured, RunError> {
        let OpenCell { servers, load } = &mut self.open[cell];
        let servers = &mut self.servers[*servers];
        if slice.cell.command.is_some() {
            servers.remind(&slice.arm.name);
        }
        let mut meter = SliceMeter {
            server: servers.server(&slice.arm.name),
            load: load.as_mut(),
            machine: &SystemCpu::now,
            began: self.began,
        };
        meter.slice(slice, self.study.slice())
    }
}
