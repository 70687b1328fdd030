//! Estimates, noise floor and verdicts of all cells.

use ciphertax_model::{Metric, Pace, Study};
use ciphertax_records::{
    BlockRatios, CellRecord, EstimateRow, KindRow, Measurement, OperationSample, Sample,
};
use ciphertax_stats::histogram::decode;
use ciphertax_stats::paired::log_ratios;
use ciphertax_stats::percentile::{LatencyBlocks, percentile_change};
use ciphertax_stats::verdict::{Criteria, holm, judge, noise_floor};
use ciphertax_stats::{Estimate, difference};
use ciphertax_stats::{FEWEST_BLOCKS, Interval, Rule, Verdict};
use hdrhistogram::Histogram;

use crate::ExplainError;
use crate::cell::{AGAIN, BASELINE, CellSamples, has_kind, pooled, pooled_mean_latency, value};

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
    kind: Option<&'a str>,
    /// The baseline's value, over all its valid slices.
    baseline: f64,
    estimate: Estimate,
    difference: Interval,
}

/// Metrics whose block ratios are worth showing: those with a target.
const SHOWN_BY_BLOCK: [Metric; 4] = [
    Metric::ClientCpuPerOp,
    Metric::ServerCpuPerOp,
    Metric::Throughput,
    Metric::ResponseMean,
];

pub(crate) fn evaluate(
    study: &Study,
    cells: &[CellSamples<'_>],
    records: &[CellRecord],
    seed: u64,
) -> Result<Evaluated, ExplainError> {
    let mut comparisons = Vec::new();
    let mut block_ratios = Vec::new();
    let mut measurements = Vec::new();
    for (cell, record) in cells.iter().zip(records) {
        for arm in BASELINE..cell.arms.len() {
            measurements.extend(measurement(cell, arm, Metric::TunnelCpuPerOp)?);
        }
        for metric in compared(cell) {
            measurements.extend(measurement(cell, BASELINE, metric)?);
            for arm in AGAIN..cell.arms.len() {
                let comparison = compare(cell, record, arm, metric, None, seed)?;
                measurements.extend(match &comparison {
                    Some(comparison) => Some(comparison.measurement()),
                    None => measurement(cell, arm, metric)?,
                });
                comparisons.extend(comparison);
                if SHOWN_BY_BLOCK.contains(&metric) {
                    block_ratios.push(ratios(cell, arm, metric)?);
                }
            }
        }
        for (kind, metric) in by_kind(cell) {
            for arm in AGAIN..cell.arms.len() {
                comparisons.extend(compare(cell, record, arm, metric, Some(kind), seed)?);
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
                kind: kind.to_owned(),
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
fn by_kind<'a>(cell: &CellSamples<'a>) -> Vec<(&'a str, Metric)> {
    match cell.cell.load.pace() {
        Pace::Open { .. } => Vec::new(),
        Pace::Closed | Pace::Batch { .. } => {
            let metrics = |kind| Metric::COMPARED_BY_KIND.map(|metric| (kind, metric));
            cell.kinds().into_iter().flat_map(metrics).collect()
        }
    }
}

/// A run of a program is no request: how it answered single ones only the program knows.
fn compared(cell: &CellSamples<'_>) -> impl Iterator<Item = Metric> {
    let is_command = cell.cell.workload.is_program();
    let of_connects = match cell.cell.workload.makes_connections() {
        true => &Metric::COMPARED_OF_CONNECTS[..],
        false => &[],
    };
    let compared = Metric::compared(cell.cell.load.pace())
        .iter()
        .chain(of_connects)
        .copied();
    compared.filter(move |metric| !is_command || quantile(*metric).is_none())
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

/// What an arm measured by itself.
fn measurement(
    cell: &CellSamples<'_>,
    arm: usize,
    metric: Metric,
) -> Result<Option<Measurement>, ExplainError> {
    let samples: Vec<&Sample> = cell.valid(arm).collect();
    Ok(level(&samples, metric, None)?.map(|value| measured(cell, arm, metric, value)))
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

/// A metric over several slices, in its unit: of all their operations together. `None` where none of them tells it.
fn level(samples: &[&Sample], metric: Metric, kind: Option<&str>) -> Result<Option<f64>, ExplainError> {
    let Some(quantile) = quantile(metric) else {
        return Ok(match kind {
            Some(kind) => pooled_mean_latency(samples, kind),
            None => {
                let tells = |sample: &&&Sample| value(sample, metric).is_some();
                pooled(&samples.iter().filter(tells).copied().collect::<Vec<_>>(), metric)
            }
        });
    };
    // A kind that is rare may be missing from a slice.
    let has_it = |sample: &&&Sample| kind.is_none_or(|kind| has_kind(sample, kind));
    let latencies = latencies(samples.iter().filter(has_it).copied(), metric, kind)?;
    Ok(latencies.map(|latencies| latencies.value_at_quantile(quantile) / 1e3))
}

fn compare<'a>(
    cell: &'a CellSamples<'a>,
    record: &'a CellRecord,
    arm: usize,
    metric: Metric,
    kind: Option<&'a str>,
    seed: u64,
) -> Result<Option<Comparison<'a>>, ExplainError> {
    let (estimate, logs) = match quantile(metric) {
        Some(quantile) => {
            let has_it = |sample: &Sample| kind.is_none_or(|kind| has_kind(sample, kind));
            let (baseline, variant): (Vec<&Sample>, Vec<&Sample>) = cell
                .pairs(BASELINE, arm)
                .filter(|(one, other)| has_it(one) && has_it(other))
                .unzip();
            if baseline.len() < FEWEST_BLOCKS as usize {
                return Ok(None);
            }
            let baseline = latencies(baseline.into_iter(), metric, kind)?;
            let variant = latencies(variant.into_iter(), metric, kind)?;
            let (Some(baseline), Some(variant)) = (baseline, variant) else {
                return Ok(None);
            };
            (
                percentile_change(&baseline, &variant, quantile, seed)?,
                Vec::new(),
            )
        }
        None => {
            let (baseline, variant) = match kind {
                None => cell.paired(BASELINE, arm, metric),
                Some(kind) => cell.paired_means(BASELINE, arm, kind),
            };
            if baseline.len() < FEWEST_BLOCKS as usize {
                return Ok(None);
            }
            let logs = baseline.iter().map(|value| value.ln()).collect();
            (Estimate::of_pairs(&baseline, &variant)?, logs)
        }
    };
    let all: Vec<&Sample> = cell.valid(BASELINE).collect();
    let Some(baseline) = level(&all, metric, kind)? else {
        return Ok(None);
    };
    Ok(Some(Comparison {
        cell,
        record,
        arm,
        metric,
        kind,
        baseline,
        estimate,
        difference: difference(baseline, &logs, &estimate)?,
    }))
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
        let caveat = self.caveat();
        let (verdict, rule) = match caveat {
            Some(_) => (Verdict::CannotTell, Rule::ClientBound),
            None => (judgement.verdict, judgement.rule),
        };
        let more_time_s = match (verdict, judgement.more_blocks, &caveat) {
            (Verdict::CannotTell, Some(blocks), None) => self
                .cell
                .seconds_per_block()
                .map(|seconds| seconds * f64::from(blocks)),
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
            caveat,
        }
    }

    fn caveat(&self) -> Option<String> {
        let concerns_server = !self.metric.is_cpu() && self.metric != Metric::BytesPerOp;
        (self.record.client_bound && concerns_server).then(|| "client-bound".to_owned())
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

fn quantile(metric: Metric) -> Option<f64> {
    match metric {
        Metric::LatencyP50 | Metric::ResponseP50 => Some(0.50),
        Metric::LatencyP95 | Metric::ResponseP95 => Some(0.95),
        Metric::LatencyP99 | Metric::ResponseP99 => Some(0.99),
        _ => None,
    }
}

/// The latencies of several slices; `None` if there are no slices.
fn latencies<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    metric: Metric,
    kind: Option<&str>,
) -> Result<Option<LatencyBlocks>, ExplainError> {
    let histograms = samples
        .map(|sample| latency(sample, metric, kind))
        .collect::<Result<Vec<_>, _>>()?;
    match histograms.is_empty() {
        true => Ok(None),
        false => Ok(Some(LatencyBlocks::new(&histograms)?)),
    }
}

/// What a percentile is of: the latencies of a slice, or its response times; of one kind of operation or of all together.
fn latency(sample: &Sample, metric: Metric, kind: Option<&str>) -> Result<Histogram<u64>, ExplainError> {
    let is_response = matches!(
        metric,
        Metric::ResponseP50 | Metric::ResponseP95 | Metric::ResponseP99
    );
    let mut all = ciphertax_stats::histogram::empty();
    if is_response {
        let open_loop = sample.open_loop.as_ref();
        return open_loop.map_or(Ok(all), |open_loop| Ok(decode(&open_loop.response)?));
    }
    let is_meant = |of: &&OperationSample| kind.is_none_or(|kind| of.kind == kind);
    for kind in sample.operations.iter().filter(is_meant) {
        let latency = decode(&kind.latency)?;
        all.add(&latency).map_err(|error| {
            ExplainError::Histogram(ciphertax_stats::histogram::HistogramError::Format(
                error.to_string(),
            ))
        })?;
    }
    Ok(all)
}
