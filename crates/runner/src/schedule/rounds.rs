//! Block after block, the cells in turn, until every cell is precise or the time is spent.

use std::time::Duration;

use ciphertax_model::Study;
use ciphertax_records::{QuietPhase, RunFolder, RunStatus, SampleLog, VoidReason};

use super::calibration::{calibrate, length_of};
use super::course::{BlockOutcome, Course};
use super::measure::{Measure, Measured, PlannedSlice};
use crate::error::Result;
use crate::progress::{Headline, Progress, Stage};

/// How long is waited after the first block that was disturbed; twice as long after each further one, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A cell whose intervals are so much narrower than those of the cell that is furthest from its target, relative to the targets, lets it
/// go before: the time is worth more there.
const AHEAD: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// In one of so many turns every cell has its block, so that all see the same hours of the machine.
const TURNS_OF_ALL: u32 = 4;

/// Has the cells of a study measured in turn and keeps what they yield.
pub(crate) struct Rounds<'a> {
    study: &'a Study,
    measure: &'a mut dyn Measure,
    folder: &'a mut RunFolder,
    pub(crate) log: SampleLog,
    budget: Duration,
    /// How long is waited after the next block that is disturbed.
    wait: Duration,
}

impl<'a> Rounds<'a> {
    /// Before the first block of a run, or of one that goes on after what was measured `earlier`.
    pub(crate) fn begin(
        study: &'a Study,
        measure: &'a mut dyn Measure,
        folder: &'a mut RunFolder,
        earlier: SampleLog,
    ) -> Self {
        Self {
            study,
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
    ) -> Result<RunStatus> {
        for cell in cells.iter().filter(|cell| cell.blocks > 0) {
            progress.earlier(&self.headline(cell));
        }
        self.set_slices(cells)?;
        for turn in 0.. {
            let imprecise = cells.iter().filter(|cell| !cell.is_done());
            if imprecise.clone().next().is_none() {
                break;
            }
            let furthest = imprecise.filter_map(Course::excess).max_by(f64::total_cmp);
            for (index, cell) in cells.iter_mut().enumerate() {
                let excess = cell.excess().zip(furthest);
                let is_ahead = excess.is_some_and(|(excess, furthest)| excess < AHEAD * furthest);
                if is_ahead && turn % TURNS_OF_ALL != 0 {
                    continue;
                }
                if let Some(end) = self.turn(index, cell, progress)? {
                    return Ok(end);
                }
            }
        }
        Ok(RunStatus::Complete)
    }

    /// As many blocks of a cell as make a turn, or as it needs. Tells how the run ends, if it does.
    fn turn(
        &mut self,
        index: usize,
        cell: &mut Course<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunStatus>> {
        for _ in 0..cell.blocks_of_a_turn() {
            if cell.is_done() {
                break;
            }
            let block_began = self.measure.elapsed();
            if block_began + cell.block_time() > self.budget {
                return Ok(Some(RunStatus::Complete));
            }
            let ended = self.block(index, cell, progress);
            if self.measure.is_stopped() {
                return Ok(Some(partial("stopped by the user")));
            }
            if let Some(status) = ended? {
                return Ok(Some(status));
            }
            let now = self.measure.elapsed();
            match cell.end_block(&self.log, now - block_began, self.budget.saturating_sub(now))? {
                BlockOutcome::Valid => self.wait = FIRST_WAIT,
                BlockOutcome::Failed => {}
                BlockOutcome::Disturbed(reason) => self.wait_for_peace(reason, progress),
                BlockOutcome::TooShort { longer, reason } => progress.stage(&Stage::Lengthening {
                    cell: cell.cell.name.clone(),
                    slice: longer,
                    reason,
                }),
                BlockOutcome::Hopeless(reason) => return Ok(Some(partial(reason))),
            }
            progress.block(&self.headline(cell));
        }
        Ok(None)
    }

    /// Has the slices of every cell as short as its load bears, where nothing says how long they are; those of a run that goes on as
    /// long as they were.
    fn set_slices(&mut self, cells: &mut [Course<'_>]) -> Result<()> {
        for (index, cell) in cells.iter_mut().enumerate() {
            if !self.study.has_free_slices(cell.cell) || self.measure.counts_in_ticks(index) {
                continue;
            }
            let mut of_cell = self
                .log
                .samples
                .iter()
                .filter(|sample| sample.slice.cell == cell.cell.name);
            let slice = match of_cell.find(|sample| sample.is_valid()) {
                Some(earlier) => length_of(Duration::from_nanos(earlier.load.duration_ns)),
                None => calibrate((self.study, self.budget), index, cell, self.measure)?,
            };
            cell.slice = slice;
        }
        Ok(())
    }

    /// What disturbs this machine passes: so wait a little, then longer, while there is time.
    fn wait_for_peace(&mut self, reason: String, progress: &mut dyn Progress) {
        progress.stage(&Stage::Waiting(reason));
        let left = self.budget.saturating_sub(self.measure.elapsed());
        self.measure.wait(self.wait.min(left));
        self.wait = LONGEST_WAIT.min(self.wait * 2);
    }

    /// One slice of every arm; where arms differ at rest with a quiet phase before each and at the end, when the clocks of all
    /// servers are read. Tells how the run ends, where nothing more can be measured.
    fn block(
        &mut self,
        index: usize,
        cell: &mut Course<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunStatus>> {
        self.measure.restore(index, progress)?;
        let has_rounds = self.measure.has_rounds(index);
        if has_rounds {
            progress.stage(&Stage::Settling);
        }
        self.measure.begin_block(index)?;
        let number = cell.blocks;
        for slice in cell.next_block() {
            let quiet = has_rounds.then(|| self.quiet(index, Some(&slice), progress));
            if self.measure.is_stopped() {
                return Ok(None);
            }
            let Measured {
                mut sample,
                kept,
                looked,
                ..
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
                if let Some(profile) = &looked.profile {
                    self.folder
                        .look_writer
                        .append_profile(profile, self.measure.symbols())?;
                }
                if let Some(waits) = &looked.waits {
                    self.folder
                        .look_writer
                        .append_waits(waits, self.measure.symbols())?;
                }
            }
            let Some(reason) = sample.void else { continue };
            progress.void(&slice.cell.name, &slice.arm.name, &reason.to_string());
            if matches!(
                reason,
                VoidReason::ServerDied { .. }
                    | VoidReason::PoolerDied { .. }
                    | VoidReason::ColumnRelayDied { .. }
                    | VoidReason::RankLost { .. }
            ) {
                return Ok(Some(partial(reason.to_string())));
            }
        }
        if has_rounds {
            let quiet = self.quiet(index, None, progress);
            if self.measure.is_stopped() {
                return Ok(None);
            }
            let round = self.measure.end_round(index, number, quiet);
            self.log.rounds.push(round.clone());
            self.folder.append_round(&round)?;
        }
        Ok(None)
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
        let (reached, wanted) = (&course.reached, &self.study.precision);
        let void = self
            .log
            .samples
            .iter()
            .filter(|sample| !sample.is_valid())
            .count();
        let mut latest = self.log.samples.iter().rev();
        let latest = latest.find(|sample| sample.slice.cell == course.cell.name);
        Headline {
            cell: course.cell.name.clone(),
            blocks: reached.blocks,
            looked_into: latest.is_some_and(|sample| sample.look.is_some()),
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
