//! Estimates, noise floor and verdicts of all cells.

use ciphertax_base::Interval;
use ciphertax_model::{Metric, Pace, Study};
use ciphertax_records::{BlockRatios, CellRecord, EstimateRow, KindRow, Measurement, Samples};
use ciphertax_stats::verdict::{Criteria, benjamini_hochberg, judge};
use ciphertax_stats::{
    DisturbedBlocks, Estimate, FEWEST_BLOCKS, Location, LogRatio, Rule, Verdict, difference,
};

use crate::EstimateError;
use crate::cell::{AGAIN, BASELINE, CellSamples, pooled_mean_latency};
use crate::compared::{self, Logged};
use crate::percentiles::Percentiles;

/// Everything that compares arms.
pub(crate) struct Evaluated {
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) estimates: Vec<EstimateRow>,
    pub(crate) noise_floor: Vec<EstimateRow>,
    pub(crate) by_kind: Vec<KindRow>,
    pub(crate) block_ratios: Vec<BlockRatios>,
}

/// One comparison, before it is judged.
struct Comparison<'a> {
    cell: &'a CellSamples<'a>,
    record: &'a CellRecord,
    arm: usize,
    metric: Metric,
    /// The kind of operation; `None` for all kinds together.
    kind: Option<usize>,
    /// The baseline's value, over all valid slices.
    baseline: f64,
    found: Found,
    difference: Interval,
}

/// What an arm differs from the baseline by.
struct Found {
    estimate: Estimate,
    /// `None` of percentiles, which are those of all blocks together.
    location: Option<Location>,
    disturbed: Option<DisturbedBlocks>,
    /// The mean of the same blocks.
    by_mean: Estimate,
    /// The logarithms of the baseline's values by block; empty of percentiles.
    baseline: Vec<f64>,
}

/// Metrics whose block ratios are worth showing: those with a target.
const SHOWN_BY_BLOCK: [Metric; 6] = [
    Metric::ClientCpuPerOp,
    Metric::ServerCpuPerOp,
    Metric::ServerCpuRoundPerOp,
    Metric::ServerAndFileSystemCpuPerOp,
    Metric::Throughput,
    Metric::ResponseMean,
];

pub(crate) fn evaluate(
    study: &Study,
    cells: &[CellSamples<'_>],
    records: &[CellRecord],
    samples: &(impl Samples + ?Sized),
    seed: u64,
) -> Result<Evaluated, EstimateError> {
    let mut comparisons = Vec::new();
    let mut block_ratios = Vec::new();
    let mut measurements = Vec::new();
    for (cell, record) in cells.iter().zip(records) {
        let metrics = compared(cell);
        let kinds = by_kind(cell);
        let levels = Levels {
            cell,
            percentiles: Percentiles::of(cell, samples, &metrics, &kinds, seed)?,
        };
        for arm in BASELINE..cell.arms.len() {
            for metric in Metric::MEASURED_ALONE {
                measurements.extend(levels.measurement(arm, metric));
            }
        }
        for metric in metrics {
            measurements.extend(levels.baseline_measurement(metric));
            for arm in AGAIN..cell.arms.len() {
                let comparison = levels.compare(record, arm, metric, None)?;
                measurements.extend(match &comparison {
                    Some(comparison) => Some(comparison.measurement()),
                    None => levels.measurement(arm, metric),
                });
                comparisons.extend(comparison);
                if SHOWN_BY_BLOCK.contains(&metric) {
                    block_ratios.push(ratios(cell, arm, metric));
                }
            }
        }
        for (kind, metric) in kinds {
            for arm in AGAIN..cell.arms.len() {
                comparisons.extend(levels.compare(record, arm, metric, Some(kind))?);
            }
        }
    }
    let (again, variants): (Vec<_>, Vec<_>) = comparisons.into_iter().partition(|row| row.arm == AGAIN);
    let adjusted_again = adjusted(&again);
    let mut estimates = Vec::new();
    let mut by_kind = Vec::new();
    for (row, p_value) in variants.iter().zip(adjusted(&variants)) {
        let estimate = row.judged(study, floor_of(row, &again), p_value);
        match row.kind {
            None => estimates.push(estimate),
            Some(kind) => by_kind.push(KindRow {
                kind: row.cell.kind(kind).to_owned(),
                estimate,
            }),
        }
    }
    Ok(Evaluated {
        measurements,
        estimates,
        noise_floor: again
            .iter()
            .zip(adjusted_again)
            .filter(|(row, _)| row.kind.is_none())
            .map(|(row, p_value)| row.judged(study, Some(0.0), p_value))
            .collect(),
        by_kind,
        block_ratios,
    })
}

/// What is compared for each kind of operation of a cell in a closed loop, where it has several kinds.
fn by_kind(cell: &CellSamples<'_>) -> Vec<(usize, Metric)> {
    match cell.cell.load.pace() {
        Pace::Open { .. } => Vec::new(),
        Pace::Closed | Pace::Batch { .. } => {
            let metrics = Metric::compared_by_kind(cell.cell.workload);
            let of_kind = |kind| metrics.iter().map(move |metric| (kind, *metric));
            cell.kinds().into_iter().flat_map(of_kind).collect()
        }
    }
}

fn compared(cell: &CellSamples<'_>) -> Vec<Metric> {
    cell.cell.compared().chain(compared::of_rounds(cell)).collect()
}

/// True for bytes, on the network or exchanged with storage.
fn is_bytes(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::BytesPerOp | Metric::StorageWrittenPerOp | Metric::StorageReadPerOp
    )
}

/// What comparisons are judged together for. So many counters and percentiles would leave no cost significant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// What the question is answered with: CPU time; throughput where the server's cannot be read.
    Answer,
    /// Throughput and latency.
    Speed,
    /// Bytes, and what the CPU counts.
    Counters,
}

impl Family {
    const ALL: [Self; 3] = [Self::Answer, Self::Speed, Self::Counters];

    fn of(row: &Comparison<'_>, rows: &[Comparison<'_>]) -> Self {
        let reads_server = || {
            rows.iter().any(|other| {
                Metric::SERVER_CPU.contains(&other.metric) && other.cell.cell.name == row.cell.cell.name
            })
        };
        match row.metric {
            metric if metric.is_cpu() => Self::Answer,
            Metric::Throughput if row.kind.is_none() && !reads_server() => Self::Answer,
            metric if metric.is_of_hardware() || is_bytes(metric) => Self::Counters,
            Metric::CellsPerOp => Self::Counters,
            _ => Self::Speed,
        }
    }
}

/// The p-values of comparisons, adjusted within their families.
fn adjusted(rows: &[Comparison<'_>]) -> Vec<f64> {
    let families: Vec<Family> = rows.iter().map(|row| Family::of(row, rows)).collect();
    let mut adjusted = vec![1.0; rows.len()];
    for family in Family::ALL {
        // Of what is the load generator's nothing is claimed, so it is no part of what is claimed wrongly.
        for is_the_clients in [false, true] {
            let is_of_family =
                |place: &usize| families[*place] == family && rows[*place].is_the_clients() == is_the_clients;
            let places: Vec<usize> = (0..rows.len()).filter(is_of_family).collect();
            let p_values = places.iter().map(|place| rows[*place].found.estimate.p_value);
            let p_values = benjamini_hochberg(&p_values.collect::<Vec<_>>());
            for (place, p_value) in places.into_iter().zip(p_values) {
                adjusted[place] = p_value;
            }
        }
    }
    adjusted
}

/// The noise floor of the same metric in the same cell, by the same location; without one nothing counts as a difference.
fn floor_of(row: &Comparison<'_>, again: &[Comparison<'_>]) -> Option<f64> {
    let is_same = |other: &&Comparison<'_>| {
        (other.metric, other.kind) == (row.metric, row.kind) && other.cell.cell.name == row.cell.cell.name
    };
    let found = &again.iter().find(is_same)?.found;
    let by_same_location = match row.found.location {
        Some(Location::Mean) => &found.by_mean,
        Some(Location::Robust) | None => &found.estimate,
    };
    Some(LogRatio::from(by_same_location).noise_floor())
}

fn measured(cell: &CellSamples<'_>, arm: usize, metric: Metric, value: f64) -> Measurement {
    Measurement {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        metric,
        unit: metric.unit().to_owned(),
        value,
    }
}

/// What the arms of a cell measured, each by itself and against the baseline.
struct Levels<'a> {
    cell: &'a CellSamples<'a>,
    percentiles: Percentiles,
}

impl<'a> Levels<'a> {
    /// What an arm measured by itself.
    fn measurement(&self, arm: usize, metric: Metric) -> Option<Measurement> {
        Some(measured(self.cell, arm, metric, self.level(arm, metric, None)?))
    }

    /// A metric over all slices of an arm, in its unit: of all their operations together. `None` where none of them tells it.
    fn level(&self, arm: usize, metric: Metric, kind: Option<usize>) -> Option<f64> {
        if metric.quantile().is_some() {
            return self.percentiles.level(arm, metric, kind);
        }
        match kind {
            Some(kind) => pooled_mean_latency(&self.cell.valid(arm).collect::<Vec<_>>(), kind),
            None => self.cell.level(arm, metric),
        }
    }

    /// The same of the baseline: of its slices and those of the baseline again, against both of which variants are compared.
    /// Percentiles are compared with the baseline alone.
    fn baseline_level(&self, metric: Metric, kind: Option<usize>) -> Option<f64> {
        if metric.quantile().is_some() {
            return self.percentiles.level(BASELINE, metric, kind);
        }
        match kind {
            Some(kind) => pooled_mean_latency(&self.cell.both_baselines().collect::<Vec<_>>(), kind),
            None => self.cell.level_of_both_baselines(metric),
        }
    }

    fn baseline_measurement(&self, metric: Metric) -> Option<Measurement> {
        Some(measured(
            self.cell,
            BASELINE,
            metric,
            self.baseline_level(metric, None)?,
        ))
    }

    fn compare(
        &self,
        record: &'a CellRecord,
        arm: usize,
        metric: Metric,
        kind: Option<usize>,
    ) -> Result<Option<Comparison<'a>>, EstimateError> {
        // The baselines against each other are what each of them measured.
        let level = match arm {
            AGAIN => self.level(BASELINE, metric, kind),
            _ => self.baseline_level(metric, kind),
        };
        let (Some(found), Some(baseline)) = (self.found(arm, metric, kind)?, level) else {
            return Ok(None);
        };
        Ok(Some(Comparison {
            cell: self.cell,
            record,
            arm,
            metric,
            kind,
            baseline,
            difference: difference(baseline, &found.baseline, &found.estimate)?,
            found,
        }))
    }

    /// The change, where enough blocks tell it.
    fn found(&self, arm: usize, metric: Metric, kind: Option<usize>) -> Result<Option<Found>, EstimateError> {
        if metric.quantile().is_some() {
            let estimate = self.percentiles.change(arm, metric, kind);
            return Ok(estimate.map(|estimate| Found {
                estimate,
                location: None,
                disturbed: None,
                by_mean: estimate,
                baseline: Vec::new(),
            }));
        }
        let of = kind.map_or(Logged::Metric(metric), Logged::Kind);
        let logs = self.cell.logs(arm, of);
        if logs.blocks() < FEWEST_BLOCKS as usize {
            return Ok(None);
        }
        let Some(change) = logs.change(metric)? else {
            return Ok(None);
        };
        Ok(Some(Found {
            estimate: change.estimate,
            location: Some(change.location),
            disturbed: change.disturbed,
            by_mean: Estimate::of_log_ratios(&logs.ratios())?,
            baseline: logs.baseline(),
        }))
    }
}

impl Comparison<'_> {
    /// The variant's value: the baseline's times the ratio, so that a table of values says what the changes say.
    fn variant(&self) -> f64 {
        self.baseline * (1.0 + self.found.estimate.change)
    }

    fn measurement(&self) -> Measurement {
        measured(self.cell, self.arm, self.metric, self.variant())
    }

    fn judged(&self, study: &Study, floor: Option<f64>, adjusted_p_value: f64) -> EstimateRow {
        let margin = margin(study, self.metric);
        let criteria = Criteria {
            direction: self.metric.direction(),
            floor,
            margin: margin.ln_1p(),
            adjusted_p_value,
        };
        let judgement = judge(&self.found.estimate, &criteria);
        let (verdict, rule) = match self.is_the_clients() {
            true => (Verdict::CannotTell, Rule::ClientBound),
            false => (judgement.verdict, judgement.rule),
        };
        let more_blocks = judgement.more_blocks.filter(|_| rule != Rule::ClientBound);
        let more_time_s = more_blocks.and_then(|blocks| self.cell.seconds_of(blocks));
        EstimateRow {
            cell: self.cell.cell.name.clone(),
            arm: self.cell.arms[self.arm].clone(),
            metric: self.metric,
            unit: self.metric.unit().to_owned(),
            baseline: self.baseline,
            variant: self.variant(),
            change: self.found.estimate.change,
            low: self.found.estimate.low,
            high: self.found.estimate.high,
            difference: self.difference,
            blocks: self.found.estimate.blocks,
            verdict,
            rule,
            floor: floor.map(f64::exp_m1),
            margin,
            adjusted_p_value,
            more_time_s,
            log_ratio: LogRatio::from(&self.found.estimate),
            location: self.found.location,
            disturbed: self.found.disturbed,
        }
    }

    /// True if the load generator was the bottleneck, and the figure is therefore its own.
    fn is_the_clients(&self) -> bool {
        let concerns_server = !self.metric.is_work() && !is_bytes(self.metric);
        self.record.client_bound && concerns_server
    }
}

/// The smallest cost that matters: twice the precision asked for, so that an interval of that half-width around no
/// change at all can exclude it.
pub fn margin(study: &Study, metric: Metric) -> f64 {
    2.0 * if metric.is_work() {
        study.precision.cpu
    } else {
        study.precision.throughput
    }
}

fn ratios(cell: &CellSamples<'_>, arm: usize, metric: Metric) -> BlockRatios {
    BlockRatios {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        metric,
        ratios: cell
            .logs(arm, Logged::MetricOfBlock(metric))
            .ratios()
            .into_iter()
            .map(f64::exp)
            .collect(),
    }
}
