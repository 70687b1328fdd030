//! A cell whose load is ready: its connections are open, or its program works.

use std::time::Duration;

use ciphertax_explain::{CellPrecision, precision};
use ciphertax_model::record::Sample;
use ciphertax_model::study::BASELINE_AGAIN;
use ciphertax_model::{Arm, Cell, Pace, Study};
use ciphertax_stats::BalancedOrder;

use crate::access::Access;
use crate::error::RunError;
use crate::generator::Generator;
use crate::load;
use crate::mysql::command::CommandLoad;
use crate::site::OpenSite;

/// A cell in which so many blocks in a row are void says no more by trying again.
const MOST_VOID_BLOCKS: u32 = 3;

/// A cell whose load is ready: its connections are open, or its program works.
pub(crate) struct OpenCell<'a> {
    pub(crate) cell: &'a Cell,
    /// Index of its site.
    pub(crate) site: usize,
    pub(crate) generator: Generator,
    /// Its arms, in the order of the generator.
    pub(crate) arms: Vec<Arm>,
    order: BalancedOrder,
    pub(crate) blocks: u32,
    void_in_a_row: u32,
    pub(crate) reached: CellPrecision,
    /// How long the last block took; zero before the first.
    last_block: Duration,
}

impl<'a> OpenCell<'a> {
    /// Starts the load threads and opens the connections of every arm, or tries the program on every arm.
    ///
    /// # Errors
    /// If there are no load threads, or the program does not work.
    pub(crate) fn open(
        study: &Study,
        cell: &'a Cell,
        (site, open_site): (usize, &mut OpenSite),
        seed: u64,
        go_on: &dyn Fn() -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let arms = study.measured_arms_of(cell);
        let mut generator = load::start(study, cell, &arms, open_site, seed)?;
        for (index, arm) in arms.iter().enumerate() {
            go_on()?;
            match &generator {
                // A connection that cannot be had makes the first slice void, with its reason.
                Generator::Engine(_) => drop(generator.prepare(index)?),
                Generator::Command(_) if arm.name == BASELINE_AGAIN => {}
                Generator::Command(command) => try_out(command, index, arm, open_site, cell, go_on)?,
            }
        }
        Ok(Self {
            cell,
            site,
            generator,
            order: BalancedOrder::new(arms.len(), seed),
            arms,
            blocks: 0,
            void_in_a_row: 0,
            reached: precision(study, cell, &[])?,
            last_block: Duration::ZERO,
        })
    }

    /// The arms of the next block, in the order in which they are measured.
    pub(crate) fn next_order(&mut self) -> Vec<usize> {
        self.order.next().unwrap_or_default()
    }

    /// How long the next block takes, as far as can be known: only the first batches tell how long batches take, the first
    /// runs of a program how long it takes, and a server that cannot keep up with a rate how long it takes to clear the
    /// backlog.
    pub(crate) fn block_time(&self, study: &Study) -> Duration {
        let slices = study.slice() * self.arms.len() as u32;
        match (&self.generator, self.cell.load.pace()) {
            (Generator::Command(_), _) | (_, Pace::Batch { .. }) => self.last_block,
            (_, Pace::Open { .. }) => slices.max(self.last_block),
            (_, Pace::Closed) => slices,
        }
    }

    /// Takes note of a block, which took so long.
    pub(crate) fn end_block(
        &mut self,
        study: &Study,
        samples: &[Sample],
        took: Duration,
    ) -> Result<(), RunError> {
        self.blocks += 1;
        self.last_block = took;
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

/// Runs a program once on an arm, which nobody measures.
fn try_out(
    command: &CommandLoad,
    index: usize,
    arm: &Arm,
    site: &mut OpenSite,
    cell: &Cell,
    go_on: &dyn Fn() -> Result<(), RunError>,
) -> Result<(), RunError> {
    let own = site.access(&arm.name).cloned();
    match (own, site.host_mut(&arm.name).as_mysql()) {
        (Some(Access::MySql(own)), Some(host)) => command.try_out(index, host, &own, &cell.name, go_on),
        _ => Err(RunError::Command {
            cell: cell.name.clone(),
            arm: arm.name.clone(),
            problem: "programs are measured on servers that speak MySQL's protocol alone".into(),
        }),
    }
}
