//! Estimates, noise floor and verdicts of all cells.

use ciphertax_model::{Metric, Pace, Study};
use ciphertax_records::{BlockRatios, CellRecord, EstimateRow, KindRow, Measurement, Samples};
use ciphertax_stats::paired::log_ratios;
use ciphertax_stats::verdict::{Criteria, holm, judge, noise_floor};
use ciphertax_stats::{Estimate, difference};
use ciphertax_stats::{FEWEST_BLOCKS, Interval, Rule, Verdict};

use crate::cell::{AGAIN, BASELINE, CellSamples, Figures, pooled, pooled_mean_latency};
use crate::compared::{self, Logs};
use crate::error::ExplainError;
use crate::percentiles::{Percentiles, quantile};

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
    /// The baseline's value, over all its valid slices.
    baseline: f64,
    estimate: Estimate,
    difference: Interval,
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
) -> Result<Evaluated, ExplainError> {
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
            for metric in Metric::OF_WHAT_IS_BETWEEN {
                measurements.extend(levels.measurement(arm, metric));
            }
        }
        for metric in metrics {
            measurements.extend(levels.measurement(BASELINE, metric));
            for arm in AGAIN..cell.arms.len() {
                let comparison = levels.compare(record, arm, metric, None)?;
                measurements.extend(match &comparison {
                    Some(comparison) => Some(comparison.measurement()),
                    None => levels.measurement(arm, metric),
                });
                comparisons.extend(comparison);
                if SHOWN_BY_BLOCK.contains(&metric) {
                    block_ratios.push(ratios(cell, arm, metric)?);
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
    let adjusted = holm(&p_values(&variants));
    let adjusted_again = holm(&p_values(&again));
    let mut estimates = Vec::new();
    let mut by_kind = Vec::new();
    for (row, p_value) in variants.iter().zip(adjusted) {
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
            let metrics = |kind| Metric::COMPARED_BY_KIND.map(|metric| (kind, metric));
            cell.kinds().into_iter().flat_map(metrics).collect()
        }
    }
}

/// A run of a program is no request: how it answered single ones only the program knows.
fn compared(cell: &CellSamples<'_>) -> Vec<Metric> {
    let is_command = cell.cell.workload.is_program();
    let of_connects = match cell.cell.workload.makes_connections() {
        true => &Metric::COMPARED_OF_CONNECTS[..],
        false => &[],
    };
    let compared = Metric::compared(cell.cell.load.pace())
        .iter()
        .chain(of_connects)
        .copied()
        .chain(compared::of_rounds(cell));
    compared
        .filter(|metric| !is_command || quantile(*metric).is_none())
        .collect()
}

/// True for bytes that a server exchanges with storage.
fn is_storage(metric: Metric) -> bool {
    matches!(metric, Metric::StorageWrittenPerOp | Metric::StorageReadPerOp)
}

fn p_values(rows: &[Comparison<'_>]) -> Vec<f64> {
    rows.iter().map(|row| row.estimate.p_value).collect()
}

/// The noise floor of the same metric in the same cell; without one nothing counts as a difference.
fn floor_of(row: &Comparison<'_>, again: &[Comparison<'_>]) -> Option<f64> {
    let is_same = |other: &&Comparison<'_>| {
        (other.metric, other.kind) == (row.metric, row.kind) && other.cell.cell.name == row.cell.cell.name
    };
    again
        .iter()
        .find(is_same)
        .map(|other| noise_floor(&other.estimate))
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
        if quantile(metric).is_some() {
            return self.percentiles.level(arm, metric, kind);
        }
        let slices: Vec<&Figures> = self.cell.valid(arm).collect();
        match kind {
            Some(kind) => pooled_mean_latency(&slices, kind),
            None => {
                let telling = slices.into_iter().filter(|slice| slice.tells(metric));
                pooled(&telling.collect::<Vec<_>>(), metric)
            }
        }
    }

    fn compare(
        &self,
        record: &'a CellRecord,
        arm: usize,
        metric: Metric,
        kind: Option<usize>,
    ) -> Result<Option<Comparison<'a>>, ExplainError> {
        let (estimate, logs) = if quantile(metric).is_some() {
            match self.percentiles.change(arm, metric, kind) {
                Some(estimate) => (estimate, Vec::new()),
                None => return Ok(None),
            }
        } else {
            let logs = match kind {
                None => self.cell.logs(BASELINE, arm, metric),
                Some(kind) => {
                    let (baseline, variant) = self.cell.paired_means(BASELINE, arm, kind);
                    Logs::of(&baseline, &variant)
                }
            };
            if logs.one.len() < FEWEST_BLOCKS as usize {
                return Ok(None);
            }
            (Estimate::of_log_ratios(&logs.ratios())?, logs.one)
        };
        let Some(baseline) = self.level(BASELINE, metric, kind) else {
            return Ok(None);
        };
        Ok(Some(Comparison {
            cell: self.cell,
            record,
            arm,
            metric,
            kind,
            baseline,
            estimate,
            difference: difference(baseline, &logs, &estimate)?,
        }))
    }
}

impl Comparison<'_> {
    /// The variant's value: the baseline's times the ratio, so that a table of values says what the changes say.
    fn variant(&self) -> f64 {
        self.baseline * (1.0 + self.estimate.change)
    }

    fn measurement(&self) -> Measurement {
        measured(self.cell, self.arm, self.metric, self.variant())
    }

    fn judged(&self, study: &Study, floor: Option<f64>, adjusted_p_value: f64) -> EstimateRow {
        let criteria = Criteria {
            direction: self.metric.direction(),
            floor,
            margin: margin(study, self.metric).ln_1p(),
            adjusted_p_value,
        };
        let judgement = judge(&self.estimate, &criteria);
        let (verdict, rule) = match self.is_the_clients() {
            true => (Verdict::CannotTell, Rule::ClientBound),
            false => (judgement.verdict, judgement.rule),
        };
        let more_time_s = match (verdict, rule, judgement.more_blocks) {
            (_, Rule::ClientBound, _) => None,
            (Verdict::CannotTell, _, Some(blocks)) => self.cell.seconds_of(blocks),
            _ => None,
        };
        EstimateRow {
            cell: self.cell.cell.name.clone(),
            arm: self.cell.arms[self.arm].clone(),
            metric: self.metric,
            unit: self.metric.unit().to_owned(),
            baseline: self.baseline,
            variant: self.variant(),
            change: self.estimate.change,
            low: self.estimate.low,
            high: self.estimate.high,
            difference: Some(self.difference),
            blocks: self.estimate.blocks,
            verdict,
            rule,
            floor: floor.map(f64::exp_m1),
            margin: judgement.margin.exp_m1(),
            adjusted_p_value,
            more_time_s,
        }
    }

    /// True if the load generator was the bottleneck, and the figure is therefore its own.
    fn is_the_clients(&self) -> bool {
        let is_bytes = self.metric == Metric::BytesPerOp || is_storage(self.metric);
        let concerns_server = !self.metric.is_cpu() && !is_bytes;
        self.record.client_bound && concerns_server
    }
}

/// The smallest cost that matters: twice the precision asked for, so that an interval of that half-width around no
/// change at all can exclude it.
pub(crate) fn margin(study: &Study, metric: Metric) -> f64 {
    2.0 * if metric.is_cpu() {
        study.precision.cpu
    } else {
        study.precision.throughput
    }
}

fn ratios(cell: &CellSamples<'_>, arm: usize, metric: Metric) -> Result<BlockRatios, ExplainError> {
    let (baseline, variant) = cell.paired(BASELINE, arm, metric);
    Ok(BlockRatios {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        metric,
        ratios: log_ratios(&baseline, &variant)?
            .into_iter()
            .map(f64::exp)
            .collect(),
    })
}
