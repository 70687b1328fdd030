//! Block after block, the cells in turn, until every cell is precise or the time is spent.

use std::time::Duration;

use ciphertax_model::Study;
use ciphertax_records::{QuietPhase, RunFolder, RunStatus, SampleLog, VoidReason};

use super::course::{BlockOutcome, Course};
use super::measure::Measure;
use super::slice::{Looked, Measured, PlannedSlice};
use crate::error::RunError;
use crate::progress::{Headline, Progress, Stage};

/// How long is waited after the first block that was disturbed; twice as long after each further one, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Has the cells of a study measured in turn and keeps what they yield.
pub(crate) struct Rounds<'a> {
    measure: &'a mut dyn Measure,
    folder: &'a mut RunFolder,
    log: SampleLog,
    budget: Duration,
    /// How long is waited after the next block that is disturbed.
    wait: Duration,
}

/// How a block ended.
enum BlockEnd {
    Measured,
    /// Nothing more can be measured.
    RunEnds(RunStatus),
}

impl<'a> Rounds<'a> {
    /// Before the first block of a run, or of one that goes on after what was measured `earlier`.
    pub(crate) fn begin(
        study: &Study,
        measure: &'a mut dyn Measure,
        folder: &'a mut RunFolder,
        earlier: SampleLog,
    ) -> Self {
        Self {
            measure,
            folder,
            log: earlier,
            budget: Duration::from_secs_f64(study.time_s),
            wait: FIRST_WAIT,
        }
    }

    /// Measures until every cell is precise and was looked into, the time is spent, or somebody wants to stop.
    ///
    /// # Errors
    /// What keeps the run from going on; the samples so far are kept.
    pub(crate) fn measure(
        &mut self,
        cells: &mut [Course<'_>],
        progress: &mut dyn Progress,
    ) -> Result<RunStatus, RunError> {
        while cells.iter().any(|cell| !cell.is_done()) {
            let imprecise = cells.iter_mut().enumerate();
            for (index, cell) in imprecise.filter(|(_, cell)| !cell.is_done()) {
                let block_began = self.measure.elapsed();
                if block_began + cell.block_time() > self.budget {
                    return Ok(RunStatus::Complete);
                }
                let ended = self.block(index, cell, progress);
                if self.measure.is_stopped() {
                    return Ok(partial("stopped by the user"));
                }
                if let BlockEnd::RunEnds(status) = ended? {
                    return Ok(status);
                }
                let took = self.measure.elapsed() - block_began;
                match cell.end_block(&self.log, took)? {
                    BlockOutcome::Valid => self.wait = FIRST_WAIT,
                    BlockOutcome::Failed => {}
                    BlockOutcome::Disturbed(reason) => self.wait_for_peace(reason, progress),
                    BlockOutcome::Hopeless(reason) => return Ok(partial(reason)),
                }
                progress.block(&self.headline(cell));
            }
        }
        Ok(RunStatus::Complete)
    }

    /// What disturbs this machine passes: so wait a little, then longer, while there is time.
    fn wait_for_peace(&mut self, reason: String, progress: &mut dyn Progress) {
        progress.stage(&Stage::Waiting(reason));
        let left = self.budget.saturating_sub(self.measure.elapsed());
        self.measure.wait(self.wait.min(left));
        self.wait = LONGEST_WAIT.min(self.wait * 2);
    }

    /// What was measured.
    pub(crate) fn into_log(self) -> SampleLog {
        self.log
    }

    /// One slice of every arm; where arms differ at rest with a quiet phase before each and at the end, when the clocks of all
    /// servers are read.
    fn block(
        &mut self,
        index: usize,
        cell: &mut Course<'_>,
        progress: &mut dyn Progress,
    ) -> Result<BlockEnd, RunError> {
        let has_rounds = self.measure.has_rounds(index);
        if has_rounds {
            progress.stage(&Stage::Settling);
        }
        self.measure.begin_block(index)?;
        let number = cell.number();
        for slice in cell.next_block() {
            let quiet = has_rounds.then(|| self.quiet(index, Some(&slice), progress));
            if self.measure.is_stopped() {
                return Ok(BlockEnd::Measured);
            }
            let Measured {
                mut sample,
                kept,
                looked,
            } = self.measure.slice(index, &slice)?;
            sample.quiet = quiet;
            if self.measure.is_stopped() && !sample.is_valid() {
                // Whatever it looks like, that is why.
                sample.void = Some(VoidReason::Interrupted);
            }
            // Kept here even where the disk is full.
            self.log.samples.push(sample.clone());
            self.folder.append(&sample)?;
            if sample.is_valid() {
                self.folder.keep(&sample, &kept)?;
                self.keep_seen(&looked)?;
            }
            let Some(reason) = sample.void else { continue };
            progress.void(&slice.cell.name, &slice.arm.name, &reason.to_string());
            if matches!(
                reason,
                VoidReason::ServerDied { .. } | VoidReason::PoolerDied { .. }
            ) {
                return Ok(BlockEnd::RunEnds(partial(reason.to_string())));
            }
        }
        if has_rounds {
            let quiet = self.quiet(index, None, progress);
            if self.measure.is_stopped() {
                return Ok(BlockEnd::Measured);
            }
            let round = self.measure.end_round(index, number, quiet);
            self.log.rounds.push(round.clone());
            self.folder.append_round(&round)?;
        }
        Ok(BlockEnd::Measured)
    }

    fn keep_seen(&mut self, looked: &Looked) -> Result<(), RunError> {
        if let Some(profile) = &looked.profile {
            self.folder.append_profile(profile, self.measure.symbols())?;
        }
        if let Some(waits) = &looked.waits {
            self.folder.append_waits(waits, self.measure.symbols())?;
        }
        Ok(())
    }

    /// Waits until nothing of what was measured before disturbs what comes next.
    fn quiet(
        &mut self,
        index: usize,
        next: Option<&PlannedSlice<'_>>,
        progress: &mut dyn Progress,
    ) -> QuietPhase {
        progress.stage(&Stage::Settling);
        let quiet = self.measure.quiet(index, next);
        if let Some(next) = next {
            progress.stage(&Stage::Measuring {
                cell: next.cell.name.clone(),
                arm: next.arm.name.clone(),
            });
        }
        quiet
    }

    fn headline(&self, course: &Course<'_>) -> Headline {
        let elapsed = self.measure.elapsed();
        let (reached, wanted) = (&course.reached, course.wanted());
        let void = self
            .log
            .samples
            .iter()
            .filter(|sample| !sample.is_valid())
            .count();
        Headline {
            cell: course.cell.name.clone(),
            blocks: reached.blocks,
            cpu: (reached.cpu_half_width, wanted.cpu),
            throughput: (reached.throughput_half_width, wanted.throughput),
            void: void as u32,
            elapsed,
            left: self.budget.saturating_sub(elapsed),
        }
    }
}

fn partial(reason: impl Into<String>) -> RunStatus {
    RunStatus::Partial {
        reason: reason.into(),
    }
}
