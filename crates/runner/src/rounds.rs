//! Block after block, the cells in turn, until every cell is precise or the time is spent.

use std::time::{Duration, Instant};

use ciphertax_model::Study;
use ciphertax_reactor::stop;
use ciphertax_records::{RunStatus, Sample, VoidReason};

use crate::cell::{BlockOutcome, OpenCell};
use crate::error::RunError;
use crate::folder::RunFolder;
use crate::measure::{Measured, Meter, Place};
use crate::progress::{Headline, Progress, Stage};
use crate::servers::Servers;

/// How long is waited after the first block that was disturbed; twice as long after each further one, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Measures the cells of a study in turn and keeps what they yield.
pub(crate) struct Rounds<'a> {
    study: &'a Study,
    sites: &'a mut [Box<dyn Servers>],
    folder: &'a mut RunFolder,
    samples: Vec<Sample>,
    /// When the run began. What lay between the parts of one that goes on is left out.
    began: Instant,
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
    /// The time of the run starts now, or goes on where that of the `earlier` samples ended.
    pub(crate) fn begin(
        study: &'a Study,
        sites: &'a mut [Box<dyn Servers>],
        folder: &'a mut RunFolder,
        earlier: Vec<Sample>,
    ) -> Self {
        Self {
            study,
            sites,
            folder,
            began: Instant::now() - time_of(&earlier),
            samples: earlier,
            budget: Duration::from_secs_f64(study.time_s),
            wait: FIRST_WAIT,
        }
    }

    /// Measures until every cell is precise, the time is spent, or somebody wants to stop.
    ///
    /// # Errors
    /// What keeps the run from going on; the samples so far are kept.
    pub(crate) fn measure(
        &mut self,
        cells: &mut [OpenCell<'_>],
        progress: &mut dyn Progress,
    ) -> Result<RunStatus, RunError> {
        while cells.iter().any(|cell| !cell.reached.precise) {
            for cell in cells.iter_mut().filter(|cell| !cell.reached.precise) {
                let block_began = self.began.elapsed();
                if block_began + cell.block_time(self.study) > self.budget {
                    return Ok(RunStatus::Complete);
                }
                let ended = self.block(cell, progress);
                if stop::is_requested() {
                    return Ok(partial("stopped by the user"));
                }
                if let BlockEnd::RunEnds(status) = ended? {
                    return Ok(status);
                }
                let took = self.began.elapsed() - block_began;
                match cell.end_block(self.study, &self.samples, took)? {
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
        stop::sleep(self.wait.min(self.budget.saturating_sub(self.began.elapsed())));
        self.wait = LONGEST_WAIT.min(self.wait * 2);
    }

    /// What was measured.
    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }

    /// One slice of every arm.
    fn block(&mut self, cell: &mut OpenCell<'_>, progress: &mut dyn Progress) -> Result<BlockEnd, RunError> {
        self.sites[cell.site].set_distance(self.study.link(cell.cell))?;
        for (position, arm) in cell.next_order().into_iter().enumerate() {
            if stop::is_requested() {
                return Ok(BlockEnd::Measured);
            }
            let place = Place {
                cell: &cell.cell.name,
                arm: &cell.arms[arm].name,
                arm_index: arm,
                tunnel: cell.arms[arm].tunnel,
                block: cell.blocks,
                position: position as u32,
            };
            let mut meter = Meter {
                site: self.sites[cell.site].as_mut(),
                began: self.began,
                slice: self.study.slice(),
            };
            let Measured { mut sample, kept } = meter.slice(&mut cell.generator, &place)?;
            if stop::is_requested() && !sample.is_valid() {
                // Whatever it looks like, that is why.
                sample.void = Some(VoidReason::Interrupted);
            }
            // Kept here even where the disk is full.
            self.samples.push(sample.clone());
            self.folder.append(&sample)?;
            if sample.is_valid() {
                self.folder.keep(&sample, &kept)?;
            }
            let Some(reason) = sample.void else { continue };
            progress.void(place.cell, place.arm, &reason.to_string());
            if matches!(reason, VoidReason::ServerDied { .. }) {
                return Ok(BlockEnd::RunEnds(partial(reason.to_string())));
            }
        }
        Ok(BlockEnd::Measured)
    }

    fn headline(&self, cell: &OpenCell<'_>) -> Headline {
        let elapsed = self.began.elapsed();
        let (reached, wanted) = (&cell.reached, &self.study.precision);
        Headline {
            cell: cell.cell.name.clone(),
            blocks: reached.blocks,
            cpu: (reached.cpu_half_width, wanted.cpu),
            throughput: (reached.throughput_half_width, wanted.throughput),
            void: self.samples.iter().filter(|sample| !sample.is_valid()).count() as u32,
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

/// The time from the beginning of a run to the end of its last sample.
fn time_of(samples: &[Sample]) -> Duration {
    let ends = samples.iter().map(|sample| sample.start_ns + sample.duration_ns);
    Duration::from_nanos(ends.max().unwrap_or(0))
}
