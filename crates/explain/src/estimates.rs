//! Estimates, noise floor and verdicts of all cells.

use ciphertax_model::record::{
    BlockRatios, CellRecord, EstimateRow, KindRow, Measurement, OperationSample, Sample, Verdict,
};
use ciphertax_model::{Metric, Pace, Study, Workload};
use ciphertax_stats::Estimate;
use ciphertax_stats::histogram::decode;
use ciphertax_stats::paired::log_ratios;
use ciphertax_stats::percentile::{LatencyBlocks, percentile_change};
use ciphertax_stats::verdict::{Criteria, holm, judge, noise_floor};
use hdrhistogram::Histogram;

use crate::ExplainError;
use crate::cell::{AGAIN, BASELINE, CellSamples, has_kind};

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
    baseline: f64,
    variant: f64,
    estimate: Estimate,
}

/// Metrics whose block ratios are worth showing: those with a target.
const SHOWN_BY_BLOCK: [Metric; 4] = [
    Metric::ClientCpuPerOp,
    Metric::ServerCpuPerOp,
    Metric::Throughput,
    Metric::ResponseMean,
];
const FEWEST_BLOCKS: usize = 2;

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
            for arm in BASELINE..cell.arms.len() {
                measurements.extend(measurement(cell, arm, metric)?);
            }
            for arm in AGAIN..cell.arms.len() {
                comparisons.extend(compare(cell, record, arm, metric, None, seed)?);
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
            .map(|(row, p_value)| row.judged(study, 0.0, p_value))
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
    let is_command = cell.cell.workload == Workload::Command;
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
fn floor_of(row: &Comparison<'_>, again: &[Comparison<'_>]) -> f64 {
    again
        .iter()
        .find(|other| {
            (other.metric, other.kind) == (row.metric, row.kind) && other.cell.cell.name == row.cell.cell.name
        })
        .map_or(f64::INFINITY, |other| noise_floor(&other.estimate))
}

fn measurement(
    cell: &CellSamples<'_>,
    arm: usize,
    metric: Metric,
) -> Result<Option<Measurement>, ExplainError> {
    let value = match quantile(metric) {
        Some(quantile) => {
            let latencies: Vec<Histogram<u64>> = cell
                .valid(arm)
                .map(|sample| latency(sample, metric, None))
                .collect::<Result<Vec<_>, _>>()?;
            if latencies.is_empty() {
                None
            } else {
                Some(LatencyBlocks::new(&latencies)?.value_at_quantile(quantile) / 1e3)
            }
        }
        None => geometric_mean(
            cell.valid(arm)
                .filter_map(|sample| crate::cell::value(sample, metric)),
        ),
    };
    Ok(value.map(|value| Measurement {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        metric,
        unit: metric.unit().to_owned(),
        value,
    }))
}

fn compare<'a>(
    cell: &'a CellSamples<'a>,
    record: &'a CellRecord,
    arm: usize,
    metric: Metric,
    kind: Option<&'a str>,
    seed: u64,
) -> Result<Option<Comparison<'a>>, ExplainError> {
    let (baseline, variant, estimate) = match quantile(metric) {
        Some(quantile) => {
            // A kind that is rare may be missing from a slice.
            let has_it = |sample: &Sample| kind.is_none_or(|kind| has_kind(sample, kind));
            let pairs: Vec<_> = cell
                .pairs(BASELINE, arm)
                .filter(|(one, other)| has_it(one) && has_it(other))
                .collect();
            if pairs.len() < FEWEST_BLOCKS {
                return Ok(None);
            }
            let latencies = |which: fn(&(&'a _, &'a _)) -> &'a _| -> Result<LatencyBlocks, ExplainError> {
                let histograms = pairs
                    .iter()
                    .map(|pair| latency(which(pair), metric, kind))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(LatencyBlocks::new(&histograms)?)
            };
            let (baseline, variant) = (latencies(|pair| pair.0)?, latencies(|pair| pair.1)?);
            let estimate = percentile_change(&baseline, &variant, quantile, seed)?;
            let micros = |latencies: &LatencyBlocks| latencies.value_at_quantile(quantile) / 1e3;
            (micros(&baseline), micros(&variant), estimate)
        }
        None => {
            let (baseline, variant) = match kind {
                None => cell.paired(BASELINE, arm, metric),
                Some(kind) => cell.paired_means(BASELINE, arm, kind),
            };
            if baseline.len() < FEWEST_BLOCKS {
                return Ok(None);
            }
            let estimate = Estimate::of_pairs(&baseline, &variant)?;
            // Geometric means, so that variant / baseline is the change exactly.
            let mean = |values: Vec<f64>| geometric_mean(values.into_iter()).unwrap_or(f64::NAN);
            (mean(baseline), mean(variant), estimate)
        }
    };
    Ok(Some(Comparison {
        cell,
        record,
        arm,
        metric,
        kind,
        baseline,
        variant,
        estimate,
    }))
}

impl Comparison<'_> {
    fn judged(&self, study: &Study, floor: f64, adjusted_p_value: f64) -> EstimateRow {
        let criteria = Criteria {
            direction: self.metric.direction(),
            floor,
            margin: margin(study, self.metric),
            adjusted_p_value,
        };
        let judgement = judge(&self.estimate, &criteria);
        let caveat = self.caveat();
        let verdict = if caveat.is_some() {
            Verdict::CannotTell
        } else {
            judgement.verdict
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
            variant: self.variant,
            change: self.estimate.change,
            low: self.estimate.low,
            high: self.estimate.high,
            difference: None,
            blocks: self.estimate.blocks,
            verdict,
            margin: judgement.margin,
            floor: Some(floor),
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
fn margin(study: &Study, metric: Metric) -> f64 {
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

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value.ln(), count + 1));
    (count > 0).then(|| (sum / f64::from(count)).exp())
}
