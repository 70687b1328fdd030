//! A cell whose load threads run and whose connections are open.

use std::time::Duration;

use ciphertax_engine::Engine;
use ciphertax_explain::{CellPrecision, precision};
use ciphertax_model::record::Sample;
use ciphertax_model::{Arm, Cell, Pace, Study};
use ciphertax_stats::BalancedOrder;
use ciphertax_workload::Access;

use crate::error::RunError;
use crate::load::start_engine;
use crate::site::OpenSite;

/// A cell in which so many blocks in a row are void says no more by trying again.
const MOST_VOID_BLOCKS: u32 = 3;

/// A cell whose load threads run and whose connections are open.
pub(crate) struct OpenCell<'a> {
    pub(crate) cell: &'a Cell,
    /// Index of its site.
    pub(crate) site: usize,
    pub(crate) engine: Engine,
    /// Its arms, in the order of the engine.
    pub(crate) arms: Vec<Arm>,
    order: BalancedOrder,
    pub(crate) blocks: u32,
    /// How long the last block took.
    pub(crate) last_block: Option<Duration>,
    void_in_a_row: u32,
    pub(crate) reached: CellPrecision,
}

impl<'a> OpenCell<'a> {
    /// Starts the load threads and opens the connections of every arm.
    pub(crate) fn open(
        study: &Study,
        cell: &'a Cell,
        (site, open_site): (usize, &OpenSite),
        seed: u64,
        go_on: &dyn Fn() -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let arms = study.measured_arms_of(cell);
        let accesses: Vec<Access> = arms
            .iter()
            .filter_map(|arm| {
                Some(Access {
                    connections: cell.load.connections as usize,
                    ..open_site.access(&arm.name)?.clone()
                })
            })
            .collect();
        let mut engine = start_engine(study, cell, &accesses, open_site.server.cpu, seed)?;
        for arm in 0..accesses.len() {
            go_on()?;
            // A connection that cannot be had makes the first slice void, with its reason.
            let _ = engine.prepare(arm)?;
        }
        Ok(Self {
            cell,
            site,
            engine,
            order: BalancedOrder::new(accesses.len(), seed),
            arms,
            blocks: 0,
            last_block: None,
            void_in_a_row: 0,
            reached: precision(study, cell, &[])?,
        })
    }

    /// The arms of the next block, in the order in which they are measured.
    pub(crate) fn next_order(&mut self) -> Vec<usize> {
        self.order.next().unwrap_or_default()
    }

    /// How long the next block takes, as far as can be known: only the first batches tell how long batches take, and a
    /// server that cannot keep up with a rate how long it takes to clear the backlog.
    pub(crate) fn block_time(&self, study: &Study) -> Duration {
        let slices = study.slice() * self.arms.len() as u32;
        let last = self.last_block.unwrap_or_default();
        match self.cell.load.pace() {
            Pace::Closed => slices,
            Pace::Open { .. } => slices.max(last),
            Pace::Batch { .. } => last,
        }
    }

    /// Takes note of a block.
    pub(crate) fn end_block(&mut self, study: &Study, samples: &[Sample]) -> Result<(), RunError> {
        self.blocks += 1;
        let before = self.reached.blocks;
        self.reached = precision(study, self.cell, samples)?;
        self.void_in_a_row = if self.reached.blocks == before {
            self.void_in_a_row + 1
        } else {
            0
        };
        Ok(())
    }

    /// Why measuring it further is of no use; `None` if it is.
    pub(crate) fn hopeless(&self, samples: &[Sample]) -> Option<String> {
        if self.void_in_a_row < MOST_VOID_BLOCKS {
            return None;
        }
        let last = samples.iter().rev().find_map(|sample| sample.void.as_ref());
        Some(format!(
            "{} blocks in a row of {} are void, the last because: {}",
            self.void_in_a_row,
            self.cell.name,
            last.map(ToString::to_string).unwrap_or_default()
        ))
    }
}
