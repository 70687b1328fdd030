//! Percentiles, rates and batches of the slices of an arm.
//!
//! The histograms of a run of many hours do not fit in memory together, so each sample is read when it is needed:
//! once for a survey of every arm, and once more for the tables of a comparison.

use ciphertax_model::{Metric, Pace};
use ciphertax_records::{BatchRow, KindRate, Samples};
use ciphertax_stats::percentile::{LatencyBlocks, LatencySurvey, percentile_change};
use ciphertax_stats::{Estimate, FEWEST_BLOCKS, LatencyCounts};

use crate::EstimateError;
use crate::cell::{AGAIN, BASELINE, CellSamples, Figures, value};

/// What percentiles are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Series {
    /// Latencies of all operations.
    Latency,
    /// Response times of an open loop.
    Response,
    /// Latencies of one kind of operation.
    Kind(usize),
}

/// The percentiles of all arms of a cell.
#[derive(Default)]
pub(crate) struct Percentiles {
    of_series: Vec<OfSeries>,
}

struct OfSeries {
    series: Series,
    /// Those that are asked for, as fractions.
    quantiles: Vec<f64>,
    /// By arm.
    surveys: Vec<LatencySurvey>,
    /// By arm, then by quantile: the change from the baseline; `None` where too few blocks have both.
    changes: Vec<Vec<Option<Estimate>>>,
}

impl Percentiles {
    /// Of the `metrics` of all operations, and the `by_kind` of each kind that is compared.
    pub(crate) fn of(
        cell: &CellSamples<'_>,
        samples: &(impl Samples + ?Sized),
        metrics: &[Metric],
        by_kind: &[(usize, Metric)],
        seed: u64,
    ) -> Result<Self, EstimateError> {
        let mut of_series: Vec<OfSeries> = Vec::new();
        let all = metrics.iter().map(|metric| (series(*metric, None), *metric));
        let kinds = by_kind
            .iter()
            .map(|(kind, metric)| (series(*metric, Some(*kind)), *metric));
        for (series, metric) in all.chain(kinds) {
            let Some(quantile) = metric.quantile() else {
                continue;
            };
            match of_series.iter_mut().find(|known| known.series == series) {
                Some(known) => known.quantiles.push(quantile),
                None => of_series.push(OfSeries::new(series, quantile)),
            }
        }
        for of in &mut of_series {
            for arm in BASELINE..cell.arms.len() {
                let survey = of.survey(cell, samples, arm)?;
                of.surveys.push(survey);
            }
            for arm in BASELINE..cell.arms.len() {
                let changes = match arm {
                    BASELINE => of.quantiles.iter().map(|_| None).collect(),
                    AGAIN.. => of.changes(cell, samples, arm, seed)?,
                };
                of.changes.push(changes);
            }
        }
        Ok(Self { of_series })
    }

    /// A percentile over all slices of an arm, in microseconds; `None` where there is none.
    pub(crate) fn level(&self, arm: usize, metric: Metric, kind: Option<usize>) -> Option<f64> {
        let (of, at) = self.find(metric, kind)?;
        Some(of.surveys[arm].value_at_quantile(of.quantiles[at])? / 1e3)
    }

    /// By how much a percentile of an arm differs from the baseline's; `None` where too few blocks have both.
    pub(crate) fn change(&self, arm: usize, metric: Metric, kind: Option<usize>) -> Option<Estimate> {
        let (of, at) = self.find(metric, kind)?;
        of.changes[arm][at]
    }

    fn find(&self, metric: Metric, kind: Option<usize>) -> Option<(&OfSeries, usize)> {
        let of = self
            .of_series
            .iter()
            .find(|of| of.series == series(metric, kind))?;
        let quantile = metric.quantile()?;
        Some((of, of.quantiles.iter().position(|other| *other == quantile)?))
    }
}

impl OfSeries {
    fn new(series: Series, quantile: f64) -> Self {
        Self {
            series,
            quantiles: vec![quantile],
            surveys: Vec::new(),
            changes: Vec::new(),
        }
    }

    fn survey(
        &self,
        cell: &CellSamples<'_>,
        samples: &(impl Samples + ?Sized),
        arm: usize,
    ) -> Result<LatencySurvey, EstimateError> {
        let mut survey = LatencySurvey::new(&self.quantiles);
        for slice in cell.valid(arm).filter(|slice| self.is_in(slice)) {
            survey.add(&self.counts(cell, samples, slice)?)?;
        }
        Ok(survey)
    }

    /// One estimate for each quantile, of the blocks that have both arms.
    fn changes(
        &self,
        cell: &CellSamples<'_>,
        samples: &(impl Samples + ?Sized),
        arm: usize,
        seed: u64,
    ) -> Result<Vec<Option<Estimate>>, EstimateError> {
        let (baseline, variant): (Vec<&Figures>, Vec<&Figures>) = cell
            .pairs(BASELINE, arm)
            .filter(|(one, other)| self.is_in(one) && self.is_in(other))
            .unzip();
        if baseline.len() < FEWEST_BLOCKS as usize {
            return Ok(self.quantiles.iter().map(|_| None).collect());
        }
        let tables = |arm: usize, slices: &[&Figures]| -> Result<Vec<LatencyBlocks>, EstimateError> {
            let of_quantile = |quantile: &f64| self.surveys[arm].table(*quantile, slices.len());
            let mut tables: Vec<LatencyBlocks> = self.quantiles.iter().filter_map(of_quantile).collect();
            for slice in slices {
                let counts = self.counts(cell, samples, slice)?;
                for table in &mut tables {
                    table.add(&counts)?;
                }
            }
            Ok(tables)
        };
        let pairs = std::iter::zip(tables(BASELINE, &baseline)?, tables(arm, &variant)?);
        pairs
            .map(|(baseline, variant)| Ok(Some(percentile_change(&baseline, &variant, seed)?)))
            .collect()
    }

    /// True if a slice has what the percentiles are of: a kind that is rare may be missing from it.
    fn is_in(&self, slice: &Figures) -> bool {
        match self.series {
            Series::Latency | Series::Response => true,
            Series::Kind(kind) => slice.has_kind(kind),
        }
    }

    fn counts(
        &self,
        cell: &CellSamples<'_>,
        samples: &(impl Samples + ?Sized),
        slice: &Figures,
    ) -> Result<LatencyCounts, EstimateError> {
        let load = samples.load(slice.index)?;
        match (self.series, &load.open_loop) {
            (Series::Response, None) => Ok(LatencyCounts::default()),
            (Series::Response, Some(open_loop)) => Ok(LatencyCounts::try_from(&open_loop.response)?),
            (Series::Latency | Series::Kind(_), _) => {
                let is_meant = |kind: &str| match self.series {
                    Series::Kind(wanted) => cell.kind(wanted) == kind,
                    Series::Latency | Series::Response => true,
                };
                let mut all = LatencyCounts::default();
                for of in load.operations.iter().filter(|of| is_meant(&of.kind)) {
                    all = all.with(LatencyCounts::try_from(&of.latency)?);
                }
                Ok(all)
            }
        }
    }
}

fn series(metric: Metric, kind: Option<usize>) -> Series {
    match (metric, kind) {
        (_, Some(kind)) => Series::Kind(kind),
        (Metric::ResponseP50 | Metric::ResponseP95 | Metric::ResponseP99, None) => Series::Response,
        (_, None) => Series::Latency,
    }
}

/// Of all cells whose operations are of several kinds.
pub(crate) fn rates(cells: &[CellSamples<'_>]) -> Vec<KindRate> {
    let of_arm = |cell: &CellSamples<'_>, arm: usize| {
        let rate = |kind: usize| {
            let (count, seconds) = cell.done(arm, kind);
            (seconds > 0.0).then(|| KindRate {
                cell: cell.cell.name.clone(),
                arm: cell.arms[arm].clone(),
                kind: cell.kind(kind).to_owned(),
                count,
                per_second: count as f64 / seconds,
            })
        };
        cell.kinds()
            .into_iter()
            .filter_map(rate)
            .collect::<Vec<KindRate>>()
    };
    cells
        .iter()
        .flat_map(|cell| (BASELINE..cell.arms.len()).flat_map(move |arm| of_arm(cell, arm)))
        .collect()
}

/// How fast each arm did its batches: mean and standard deviation from batch to batch.
pub(crate) fn batches(cells: &[CellSamples<'_>]) -> Vec<BatchRow> {
    cells
        .iter()
        .filter(|cell| matches!(cell.cell.load.pace(), Pace::Batch { .. }))
        .flat_map(|cell| (BASELINE..cell.arms.len()).filter_map(move |arm| row(cell, arm)))
        .collect()
}

fn row(cell: &CellSamples<'_>, arm: usize) -> Option<BatchRow> {
    let rates: Vec<f64> = cell
        .valid(arm)
        .filter_map(|slice| value(slice, Metric::Throughput))
        .collect();
    if rates.is_empty() {
        return None;
    }
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    Some(BatchRow {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        batches: rates.len() as u32,
        mean,
        standard_deviation: (rates.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
    })
}
