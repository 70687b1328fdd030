//! Block after block, the cells in turn, until every cell is precise or the time is spent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ciphertax_model::Study;
use ciphertax_model::record::{RunStatus, Sample, VoidReason};

use crate::cell::OpenCell;
use crate::error::RunError;
use crate::folder::RunFolder;
use crate::measure::{Measured, Meter, Place};
use crate::progress::{Headline, Progress};
use crate::site::OpenSite;

/// Measures the cells of a study in turn and keeps what they yield.
pub(crate) struct Rounds<'a> {
    study: &'a Study,
    sites: &'a mut [OpenSite],
    folder: &'a mut RunFolder,
    samples: Vec<Sample>,
    began: Instant,
    budget: Duration,
}

/// How a block ended.
enum BlockEnd {
    Measured,
    /// Nothing more can be measured.
    RunEnds(RunStatus),
}

impl<'a> Rounds<'a> {
    /// The time of the run starts now.
    pub(crate) fn begin(study: &'a Study, sites: &'a mut [OpenSite], folder: &'a mut RunFolder) -> Self {
        Self {
            study,
            sites,
            folder,
            samples: Vec::new(),
            began: Instant::now(),
            budget: Duration::from_secs_f64(study.time_s),
        }
    }

    /// Measures until every cell is precise or the time is spent.
    ///
    /// # Errors
    /// What keeps the run from going on; the samples so far are kept.
    pub(crate) fn measure(
        &mut self,
        cells: &mut [OpenCell<'_>],
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<RunStatus, RunError> {
        while cells.iter().any(|cell| !cell.reached.precise) {
            for cell in cells.iter_mut().filter(|cell| !cell.reached.precise) {
                let block_began = self.began.elapsed();
                if block_began + cell.block_time(self.study) > self.budget {
                    return Ok(RunStatus::Complete);
                }
                if let BlockEnd::RunEnds(status) = self.block(cell, progress, stop)? {
                    return Ok(status);
                }
                let took = self.began.elapsed() - block_began;
                cell.end_block(self.study, &self.samples, took)?;
                if let Some(reason) = cell.hopeless(&self.samples) {
                    return Ok(RunStatus::Partial { reason });
                }
                progress.block(&self.headline(cell));
            }
        }
        Ok(RunStatus::Complete)
    }

    /// What was measured.
    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }

    /// One slice of every arm.
    fn block(
        &mut self,
        cell: &mut OpenCell<'_>,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<BlockEnd, RunError> {
        self.sites[cell.site].set_distance(self.study.link(cell.cell))?;
        for (position, arm) in cell.next_order().into_iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Ok(BlockEnd::RunEnds(RunStatus::Partial {
                    reason: "stopped by the user".into(),
                }));
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
                site: &mut self.sites[cell.site],
                began: self.began,
                slice: self.study.slice(),
                stop,
            };
            let Measured { sample, kept } = meter.slice(&mut cell.generator, &place)?;
            self.folder.append(&sample)?;
            if sample.is_valid() {
                self.folder.keep(&sample, &kept)?;
            }
            let void = sample.void.clone();
            self.samples.push(sample);
            let Some(reason) = void else { continue };
            progress.void(place.cell, place.arm, &reason.to_string());
            if matches!(reason, VoidReason::ServerDied { .. }) {
                return Ok(BlockEnd::RunEnds(RunStatus::Partial {
                    reason: reason.to_string(),
                }));
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
