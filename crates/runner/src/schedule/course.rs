//! The course of one cell: the order of its arms, block by block, and what its blocks say of those to come.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_estimate::{CellPrecision, CellProgress};
use ciphertax_model::{Arm, Cell, Pace, Profiling, Study};
use ciphertax_records::why::Look;
use ciphertax_records::{Sample, SampleLog, VoidReason};
use ciphertax_stats::stopping::MINIMUM_BLOCKS;
use ciphertax_stats::{BalancedOrder, FEWEST_BLOCKS, OneIn};

use super::measure::PlannedSlice;
use crate::error::Result;

/// A cell in which so many blocks in a row are void for what does not pass says no more by trying again.
const MOST_FAILED_BLOCKS: u32 = 3;

/// Load generators that cannot begin together better than 2 % of this are of no use together.
const LONGEST_SLICE: Duration = Duration::from_secs(4);

/// In so many blocks a cell is looked into, if there is time: one more than an interval needs.
const FEWEST_LOOKED_BLOCKS: u32 = FEWEST_BLOCKS + 1;

pub(crate) struct Course<'a> {
    study: &'a Study,
    pub(crate) cell: &'a Cell,
    /// Those of a block, the baseline again among them.
    pub(super) arms: Vec<Arm>,
    order: BalancedOrder,
    /// How some blocks are looked into.
    look: Option<Look>,
    /// Which blocks those are. They have an order of their own, so that the others keep their balance.
    looked: OneIn,
    looked_order: BalancedOrder,
    /// Those of them in which every slice counts.
    looked_blocks: u32,
    /// Blocks that were begun, so the number of the next.
    pub(super) blocks: u32,
    failed_in_a_row: u32,
    /// Of the blocks with slices of this length: in how many load generators were apart, less those that count.
    apart: i32,
    progress: CellProgress<'a>,
    pub(super) reached: CellPrecision,
    /// How long the last block took; zero before the first.
    last_block: Duration,
    /// How long a slice is from now on.
    pub(super) slice: Duration,
}

/// What a block says of those to come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlockOutcome {
    /// Every slice counts.
    Valid,
    /// Void because of what passes by itself.
    Disturbed(String),
    /// Void because load generators were further apart than slices of this length bear; those to come are longer.
    TooShort { longer: Duration, reason: String },
    /// Void because of something else.
    Failed,
    /// The same so often that trying again is of no use.
    Hopeless(String),
}

impl<'a> Course<'a> {
    /// The course from the first block on, some of which are looked into if `look` says how. `earlier` is what a run measured
    /// that goes on: its orders go on too.
    pub(crate) fn new(
        study: &'a Study,
        cell: &'a Cell,
        seed: u64,
        look: Option<Look>,
        earlier: &SampleLog,
    ) -> Result<Self> {
        let arms = study.measured_arms_of(cell);
        let of_cell = earlier
            .samples
            .iter()
            .filter(|sample| sample.slice.cell == cell.name);
        let blocks: BTreeMap<u32, bool> = of_cell
            .map(|sample| (sample.slice.block, sample.look.is_some()))
            .collect();
        let is_looked_into: Vec<bool> = blocks.values().copied().collect();
        // The orders of the blocks that were measured.
        let order_after = |seed, looked_into: bool| {
            let count = is_looked_into.iter().filter(|is| **is == looked_into).count();
            let mut order = BalancedOrder::new(arms.len(), seed);
            order.by_ref().take(count).for_each(drop);
            order
        };
        let mut progress = CellProgress::new(study, cell);
        Ok(Self {
            reached: progress.after(earlier)?,
            progress,
            order: order_after(seed, false),
            look,
            looked: OneIn {
                first: Profiling::BLOCKS_BEFORE,
                every: Profiling::ONE_BLOCK_IN,
                seed,
            },
            looked_order: order_after(!seed, true),
            looked_blocks: is_looked_into.iter().filter(|is| **is).count() as u32,
            study,
            cell,
            arms,
            blocks: blocks.keys().next_back().map_or(0, |last| last + 1),
            failed_in_a_row: 0,
            apart: 0,
            last_block: Duration::ZERO,
            slice: study.slice(),
        })
    }

    /// One slice of every arm that is no part of any block.
    pub(super) fn trial(&self, duration: Duration) -> impl Iterator<Item = PlannedSlice<'_>> {
        let slice = move |(arm_index, arm)| PlannedSlice {
            cell: self.cell,
            arm,
            arm_index,
            block: self.blocks,
            position: 0,
            duration,
            look: None,
        };
        self.arms.iter().enumerate().map(slice)
    }

    /// The slices of the next block, in the order in which they are measured.
    pub(super) fn next_block(&mut self) -> Vec<PlannedSlice<'_>> {
        // One that is precise needs no others any more.
        let look = self
            .look
            .filter(|_| self.reached.precise || self.looked.picks(self.blocks));
        let order = match look {
            Some(_) => self.looked_order.next(),
            None => self.order.next(),
        };
        let order = order.unwrap_or_default();
        let slice = |(position, arm_index): (usize, usize)| PlannedSlice {
            cell: self.cell,
            arm: &self.arms[arm_index],
            arm_index,
            block: self.blocks,
            position: position as u32,
            duration: self.slice,
            look,
        };
        order.into_iter().enumerate().map(slice).collect()
    }

    /// How long the next block takes, as far as can be known: only the first batches tell how long batches take, the first
    /// runs of a program how long it takes, and a server that cannot keep up with a rate how long it takes to clear the
    /// backlog.
    pub(super) fn block_time(&self) -> Duration {
        let slices = self.slice * self.arms.len() as u32;
        match (&self.cell.command, self.cell.load.pace()) {
            (Some(_), _) | (None, Pace::Batch { .. }) => self.last_block,
            (None, Pace::Open { .. }) => slices.max(self.last_block),
            // A round has quiet phases, and as long as the last one's no others are known; readings of a counter wait until it has all.
            (None, Pace::Closed) if self.study.differs_at_rest() || self.study.server_cpu.is_some() => {
                slices.max(self.last_block)
            }
            (None, Pace::Closed) => slices,
        }
    }

    /// True once it is precise, and was looked into often enough to say why.
    pub(super) fn is_done(&self) -> bool {
        // In shorter slices less is seen.
        let fewest = FEWEST_LOOKED_BLOCKS * self.blocks_of_a_turn();
        let looked_into = self.look.is_none() || self.looked_blocks >= fewest;
        self.reached.precise && looked_into
    }

    /// How many times as wide as wanted its widest interval is; `None` before it could be precise.
    pub(super) fn excess(&self) -> Option<f64> {
        let wanted = &self.study.precision;
        let widest = [
            (self.reached.cpu_half_width, wanted.cpu),
            (self.reached.throughput_half_width, wanted.throughput),
        ];
        let excess = widest
            .into_iter()
            .filter_map(|(reached, wanted)| Some(reached? / wanted));
        excess
            .max_by(f64::total_cmp)
            .filter(|_| self.reached.blocks >= MINIMUM_BLOCKS)
    }

    /// So many blocks follow each other before the next cell has its turn: the shorter slices are the more, so that a turn of any
    /// cell lasts as long.
    pub(super) fn blocks_of_a_turn(&self) -> u32 {
        let blocks = self.study.slice().as_secs_f64() / self.slice.as_secs_f64();
        (blocks.round() as u32).max(1)
    }

    /// Takes note of a block, which took so long, and tells what follows for those to come, which may take so much time together. `log`
    /// is all of the run.
    pub(super) fn end_block(
        &mut self,
        log: &SampleLog,
        took: Duration,
        left: Duration,
    ) -> Result<BlockOutcome> {
        let block = self.blocks;
        self.blocks += 1;
        self.last_block = took;
        self.reached = self.progress.after(log)?;
        let of_block = |sample: &&Sample| sample.slice.cell == self.cell.name && sample.slice.block == block;
        let void: Vec<&Sample> = log
            .samples
            .iter()
            .rev()
            .take_while(of_block)
            .filter(|sample| !sample.is_valid())
            .collect();
        let reason = |sample: &&Sample| sample.void.as_ref().map(ToString::to_string).unwrap_or_default();
        let Some(first) = void.last().map(reason) else {
            self.failed_in_a_row = 0;
            self.apart -= 1;
            let last = log.samples.last();
            self.looked_blocks += u32::from(last.is_some_and(|sample| sample.look.is_some()));
            return Ok(BlockOutcome::Valid);
        };
        let Some(failure) = void.iter().find(|sample| !passes(sample)).map(reason) else {
            let is_apart = |sample: &&Sample| matches!(sample.void, Some(VoidReason::RanksApart { .. }));
            let apart = void.iter().rev().find(|sample| is_apart(sample)).map(reason);
            return Ok(match apart.and_then(|reason| self.lengthen(reason, left)) {
                Some(too_short) => too_short,
                None => BlockOutcome::Disturbed(first),
            });
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

    /// Doubles slices in which load generators are apart more often than not, unless the study says how long they are or there is no
    /// time for an interval: how far apart they begin depends on their machines, and not on the length.
    fn lengthen(&mut self, reason: String, left: Duration) -> Option<BlockOutcome> {
        self.apart += 1;
        let longer = self.slice * 2;
        let is_possible = longer <= LONGEST_SLICE && longer * self.arms.len() as u32 * FEWEST_BLOCKS <= left;
        if self.apart <= 0 || self.study.slice_s.is_some() || !is_possible {
            return None;
        }
        self.slice = longer;
        self.apart = 0;
        Some(BlockOutcome::TooShort { longer, reason })
    }
}

/// True if a slice is void because of what passes: that others had the CPU, or held up the load generator, or that what reads the
/// server's CPU from another machine could not be reached. A rate that is more than an arm can do does not pass.
pub(super) fn passes(sample: &Sample) -> bool {
    let is_beyond_reach = || {
        sample
            .load
            .open_loop
            .as_ref()
            .is_some_and(|open_loop| open_loop.not_begun > 0)
    };
    match &sample.void {
        Some(VoidReason::Steal { .. } | VoidReason::AgentLost { .. } | VoidReason::RanksApart { .. }) => true,
        Some(VoidReason::ScheduleMissed { .. }) => !is_beyond_reach(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_records::{OpenLoopSample, ServerSide, SliceId, Yield};
    use ciphertax_stats::HistogramText;

    use super::*;

    fn void(reason: VoidReason, not_begun: u64) -> Sample {
        Sample {
            load: Yield {
                open_loop: Some(OpenLoopSample {
                    planned: 9,
                    not_begun,
                    late: 0,
                    delay_sum_ns: 0,
                    response_sum_ns: 0,
                    response: HistogramText::default(),
                }),
                ..Yield::default()
            },
            slice: SliceId::default(),
            start_ns: 0,
            server: ServerSide::default(),
            quiet: None,
            others_worked: false,
            left_cached: None,
            look: None,
            void: Some(reason),
        }
    }

    #[test]
    fn what_others_did_to_the_machine_and_a_lost_agent_pass_and_nothing_else() {
        let detail = || "why".to_owned();
        assert!(passes(&void(VoidReason::Steal { fraction: 0.2 }, 0)));
        assert!(passes(&void(VoidReason::AgentLost { detail: detail() }, 0)));
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
