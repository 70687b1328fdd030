//! How precise a cell is so far, which is all that the stopping rule may know.

use ciphertax_model::{Cell, Metric, Study};
use ciphertax_records::SampleLog;
use ciphertax_stats::Estimate;
use ciphertax_stats::both_baselines::OF_REPEATED;
use ciphertax_stats::stopping::{Progress, Target, progress};

use crate::EstimateError;
use crate::cell::{AGAIN, BASELINE, CellSamples};
use crate::compared::{self, Logged};

/// How precise a cell is so far.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPrecision {
    /// Blocks in which all arms are valid.
    pub blocks: u32,
    /// True if every watched interval is as narrow as the study wants.
    pub precise: bool,
    /// Seconds of measuring still needed at the noise seen; `None` while that cannot be told.
    pub more_time_s: Option<f64>,
    /// The widest half-width of a CPU metric, as a fraction of the ratio; `None` before there are two blocks.
    pub cpu_half_width: Option<f64>,
    /// The widest half-width of the throughput, in open loop of the mean response time, as a fraction of the ratio; `None`
    /// before there are two blocks.
    pub throughput_half_width: Option<f64>,
}

/// What a run has measured of a cell so far. Each sample is looked at once, however often it is asked.
pub struct CellProgress<'a> {
    study: &'a Study,
    cell: CellSamples<'a>,
    /// How many samples of the run it has seen.
    seen: usize,
    /// How many rounds.
    rounds_seen: usize,
    /// What was found last, and after how many blocks.
    found: Option<(usize, CellPrecision)>,
}

/// What so small a part of the blocks adds is not worth looking at all of them again: in a run of many hours that would take longer
/// than the blocks themselves.
const PART_THAT_TELLS: usize = 100;

impl<'a> CellProgress<'a> {
    /// Of no sample yet.
    pub fn new(study: &'a Study, cell: &'a Cell) -> Self {
        Self {
            study,
            cell: CellSamples::new(study, cell),
            seen: 0,
            rounds_seen: 0,
            found: None,
        }
    }

    /// How precise the cell is after these, which are all samples and rounds of the run: those from before, and what came
    /// since. Of hundreds of blocks it may be that of some before.
    ///
    /// # Errors
    /// When the samples hold numbers that no measurement yields.
    pub fn after(&mut self, log: &SampleLog) -> Result<CellPrecision, EstimateError> {
        for (index, sample) in log.samples.iter().enumerate().skip(self.seen) {
            self.cell.add(index, sample);
        }
        for round in log.rounds.iter().skip(self.rounds_seen) {
            self.cell.add_round(round);
        }
        (self.seen, self.rounds_seen) = (log.samples.len(), log.rounds.len());
        let blocks = self.cell.block_count();
        match &self.found {
            Some((then, found)) if blocks < then + then / PART_THAT_TELLS => Ok(found.clone()),
            _ => {
                let found = of_cell(self.study, &self.cell)?;
                self.found = Some((blocks, found.clone()));
                Ok(found)
            }
        }
    }
}

/// How precise a cell is, from all samples of a run so far.
///
/// # Errors
/// As [`CellProgress::after`].
pub fn precision(study: &Study, cell: &Cell, log: &SampleLog) -> Result<CellPrecision, EstimateError> {
    CellProgress::new(study, cell).after(log)
}

pub(crate) fn of_cell(study: &Study, cell: &CellSamples<'_>) -> Result<CellPrecision, EstimateError> {
    let watched = watched(study, cell)?;
    let mut reached = CellPrecision {
        blocks: (AGAIN..cell.arms.len())
            .map(|arm| cell.pairs(BASELINE, arm).count())
            .min()
            .unwrap_or(0) as u32,
        precise: false,
        more_time_s: None,
        cpu_half_width: None,
        throughput_half_width: None,
    };
    for row in &watched {
        let Some(estimate) = row.estimate else {
            continue;
        };
        // Relative to the ratio, as the target is: at ten times the baseline ±1 % are ±10 points.
        let half_width = row.of_both_baselines() * estimate.half_width() / (1.0 + estimate.change);
        let widest = if row.metric.is_cpu() {
            &mut reached.cpu_half_width
        } else {
            &mut reached.throughput_half_width
        };
        *widest = Some(widest.unwrap_or(0.0).max(half_width));
    }
    let targets: Vec<Target> = watched
        .iter()
        .map(|row| match row.arm {
            AGAIN => Target::of_baseline_again(row.estimate, row.half_width),
            _ => Target::of_variant(row.estimate, row.half_width),
        })
        .collect();
    if targets.is_empty() {
        return Ok(reached);
    }
    match progress(&targets) {
        Progress::Precise => {
            reached.precise = true;
            reached.more_time_s = Some(0.0);
        }
        Progress::Continue { more_blocks } => {
            reached.more_time_s = more_blocks.and_then(|blocks| cell.seconds_of(blocks));
        }
    }
    Ok(reached)
}

/// A row that has a target.
struct Watched {
    arm: usize,
    metric: Metric,
    /// `None` while there are too few blocks.
    estimate: Option<Estimate>,
    half_width: f64,
}

impl Watched {
    /// What a half-width is multiplied by to be that of a comparison with both baselines.
    fn of_both_baselines(&self) -> f64 {
        match self.arm {
            AGAIN => OF_REPEATED,
            _ => 1.0,
        }
    }
}

fn watched(study: &Study, cell: &CellSamples<'_>) -> Result<Vec<Watched>, EstimateError> {
    let mut rows = Vec::new();
    let speed = Metric::speed(cell.cell.load.pace());
    let server_cpu = compared::server_cpu(cell);
    for metric in [Metric::ClientCpuPerOp, server_cpu, speed] {
        // A server that cannot be seen has no CPU time, and a saturated client's speed gets no verdict.
        let unseen = metric == server_cpu
            && cell
                .valid(BASELINE)
                .next()
                .is_some_and(|slice| slice.server_cpu_ns.is_none());
        if unseen || (metric == speed && cell.is_client_bound()) {
            continue;
        }
        let half_width = if metric.is_cpu() {
            study.precision.cpu
        } else {
            study.precision.throughput
        };
        for arm in AGAIN..cell.arms.len() {
            let change = cell.logs(arm, Logged::Metric(metric)).change(metric)?;
            rows.push(Watched {
                arm,
                metric,
                estimate: change.map(|change| change.estimate),
                half_width,
            });
        }
    }
    Ok(rows)
}
