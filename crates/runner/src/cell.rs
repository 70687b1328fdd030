//! A cell whose load is ready: its connections are open, or its program works.

use std::time::Duration;

use ciphertax_explain::{CellPrecision, precision};
use ciphertax_model::study::BASELINE_AGAIN;
use ciphertax_model::{Arm, Cell, Pace, Study};
use ciphertax_records::{Sample, VoidReason};
use ciphertax_stats::BalancedOrder;

use crate::error::RunError;
use crate::generator::Generator;
use crate::servers::Servers;

/// A cell in which so many blocks in a row are void for what does not pass says no more by trying again.
const MOST_FAILED_BLOCKS: u32 = 3;

/// A cell whose load is ready: its connections are open, or its program works.
pub(crate) struct OpenCell<'a> {
    pub(crate) cell: &'a Cell,
    /// Index of its site.
    pub(crate) site: usize,
    pub(crate) generator: Generator,
    /// Its arms, in the order of the generator.
    pub(crate) arms: Vec<Arm>,
    order: BalancedOrder,
    /// Blocks that were begun, so the number of the next.
    pub(crate) blocks: u32,
    failed_in_a_row: u32,
    pub(crate) reached: CellPrecision,
    /// How long the last block took; zero before the first.
    last_block: Duration,
}

impl<'a> OpenCell<'a> {
    /// Starts the load threads and opens the connections of every arm, or tries the program on every arm. `earlier` are the
    /// samples of a run that goes on.
    ///
    /// # Errors
    /// If there are no load threads, or the program does not work.
    pub(crate) fn open(
        study: &Study,
        cell: &'a Cell,
        (site, servers): (usize, &mut dyn Servers),
        seed: u64,
        earlier: &[Sample],
        go_on: &dyn Fn() -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let arms = study.measured_arms_of(cell);
        let mut generator = servers.start(study, cell, &arms, seed)?;
        for (index, arm) in arms.iter().enumerate() {
            go_on()?;
            match &generator {
                // A connection that is not available makes the first slice void, with its reason.
                Generator::Engine(_) => drop(generator.prepare(index)?),
                Generator::Command(_) if arm.name == BASELINE_AGAIN => {}
                Generator::Command(command) => servers.try_out(command, arm, cell, go_on)?,
            }
        }
        let blocks = earlier.iter().filter(|sample| sample.cell == cell.name);
        let blocks = blocks.map(|sample| sample.block + 1).max().unwrap_or(0);
        let mut order = BalancedOrder::new(arms.len(), seed);
        // The orders of the blocks that were measured.
        order.by_ref().take(blocks as usize).for_each(drop);
        Ok(Self {
            cell,
            site,
            generator,
            order,
            arms,
            blocks,
            failed_in_a_row: 0,
            reached: precision(study, cell, earlier)?,
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

    /// Takes note of a block, which took so long, and tells what follows for those to come.
    pub(crate) fn end_block(
        &mut self,
        study: &Study,
        samples: &[Sample],
        took: Duration,
    ) -> Result<BlockOutcome, RunError> {
        let block = self.blocks;
        self.blocks += 1;
        self.last_block = took;
        self.reached = precision(study, self.cell, samples)?;
        let of_block = |sample: &&Sample| sample.cell == self.cell.name && sample.block == block;
        let void: Vec<&Sample> = samples
            .iter()
            .rev()
            .take_while(of_block)
            .filter(|sample| !sample.is_valid())
            .collect();
        let reason = |sample: &&Sample| sample.void.as_ref().map(ToString::to_string).unwrap_or_default();
        let Some(first) = void.last().map(reason) else {
            self.failed_in_a_row = 0;
            return Ok(BlockOutcome::Valid);
        };
        let Some(failure) = void.iter().find(|sample| !passes(sample)).map(reason) else {
            return Ok(BlockOutcome::Disturbed(first));
        };
        self.failed_in_a_row += 1;
        if self.failed_in_a_row < MOST_FAILED_BLOCKS {
            return Ok(BlockOutcome::Failed);
        }
        Ok(BlockOutcome::Hopeless(format!(
            "{} blocks in a row of {} are void, the last because: {failure}",
            self.failed_in_a_row, self.cell.name
        )))
    }
}

/// What a block says of those to come.
pub(crate) enum BlockOutcome {
    /// Every slice counts.
    Valid,
    /// Void because of what passes by itself.
    Disturbed(String),
    /// Void because of something else.
    Failed,
    /// The same so often that trying again is of no use.
    Hopeless(String),
}

/// True if a slice is void because of what passes: that others had the CPU, or held up the load generator. A rate that is more
/// than an arm can do does not pass.
fn passes(sample: &Sample) -> bool {
    let is_beyond_reach = || {
        sample
            .open_loop
            .as_ref()
            .is_some_and(|open_loop| open_loop.not_begun > 0)
    };
    match &sample.void {
        Some(VoidReason::Steal { .. }) => true,
        Some(VoidReason::ScheduleMissed { .. }) => !is_beyond_reach(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn void(reason: VoidReason, not_begun: u64) -> Sample {
        let sample = serde_json::json!({
            "cell": "c", "block": 0, "position": 0, "arm": "plain", "start_ns": 0, "duration_ns": 0, "operations": [],
            "client_cpu": { "total_ns": 0, "system_ns": 0 }, "server_cpu": null, "bytes_sent": 0, "bytes_received": 0,
            "client_context_switches": 0, "server_context_switches": null, "steal_ns": 0, "workers": 1,
            "open_loop": { "planned": 9, "not_begun": not_begun, "late": 0, "delay_sum_ns": 0, "response_sum_ns": 0, "response": "" }
        });
        Sample {
            void: Some(reason),
            ..serde_json::from_value(sample).unwrap()
        }
    }

    #[test]
    fn what_others_did_to_the_machine_passes_and_nothing_else() {
        let detail = || "why".to_owned();
        assert!(passes(&void(VoidReason::Steal { fraction: 0.2 }, 0)));
        assert!(passes(&void(VoidReason::ScheduleMissed { detail: detail() }, 0)));
        for reason in [
            VoidReason::ScheduleMissed { detail: detail() },
            VoidReason::Errors {
                count: 1,
                first: detail(),
            },
            VoidReason::FactsDiffer { detail: detail() },
            VoidReason::ServerDied { detail: detail() },
            VoidReason::Stalled { detail: detail() },
            VoidReason::Empty,
        ] {
            assert!(!passes(&void(reason.clone(), 1)), "{reason}");
        }
    }
}
