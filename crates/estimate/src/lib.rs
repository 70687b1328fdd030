//! Figures from samples, without a sentence about them.
//!
//! [`estimate`] is a pure function of the head of a run and its samples: the same folder gives the same figures every time, which
//! is how a run gets its report again. [`CellProgress`] gives the few that the stopping rule of a run may know.

pub mod cell;
mod churn;
pub mod compared;
pub mod connection;
pub mod estimates;
pub mod flame;
pub mod looking;
pub mod paired;
mod percentiles;
mod phases;
mod precision;
pub mod rounds;
pub mod slices;
pub mod totals;

use std::io;

use ciphertax_records::{CellRecord, Head, Results, Sample, Samples, VoidRow};
use ciphertax_stats::StatsError;
use ciphertax_stats::histogram::HistogramError;
use thiserror::Error;

pub use precision::{CellPrecision, CellProgress, precision};

use crate::cell::CellSamples;

/// Why samples give no figures.
#[derive(Debug, Error)]
pub enum EstimateError {
    /// The tables that were measured do not hold what was asked of them.
    #[error("the run has no figures: {0}")]
    Inconsistent(String),
    /// A sample cannot be read.
    #[error("samples.jsonl is damaged: {0}")]
    Samples(#[from] io::Error),
    /// A histogram in the samples cannot be read.
    #[error("samples.jsonl is damaged: {0}")]
    Histogram(#[from] HistogramError),
    /// Numbers that no measurement yields.
    #[error("the samples cannot be evaluated: {0}")]
    Stats(#[from] StatsError),
}

/// The figures of a run, and the slices that they were made of.
pub struct Estimated<'a> {
    /// All but what explains them.
    pub results: Results,
    /// In the order of the study's cells.
    pub cells: Vec<CellSamples<'a>>,
}

/// The figures that follow from the head of a run and its samples, which are read several times, one at a time.
///
/// # Errors
/// When the samples are damaged, or the tables that they were measured on are not consistent.
pub fn estimate<'a>(
    head: &'a Head,
    samples: &(impl Samples + ?Sized),
) -> Result<Estimated<'a>, EstimateError> {
    if let Some(why) = &head.inconsistent {
        return Err(EstimateError::Inconsistent(why.clone()));
    }
    let study = &head.study;
    let (mut first_ns, mut last_ns) = (u64::MAX, 0);
    let mut void = Vec::new();
    let cells = cell::read(study, samples, |sample| {
        first_ns = first_ns.min(sample.start_ns);
        last_ns = last_ns.max(sample.end_ns());
        void.extend(void_row(sample));
    })?;
    let records = cells
        .iter()
        .map(|cell| cell_record(head, cell))
        .collect::<Result<Vec<_>, _>>()?;
    let evaluated = estimates::evaluate(study, &cells, &records, samples, head.seed)?;
    let mut results = Results {
        elapsed_s: last_ns.saturating_sub(first_ns) as f64 / 1e9,
        cells: records,
        connect_phases: phases::phases(&cells, samples, &evaluated.measurements)?,
        measurements: evaluated.measurements,
        estimates: evaluated.estimates,
        noise_floor: evaluated.noise_floor,
        by_kind: evaluated.by_kind,
        rates: percentiles::rates(&cells),
        block_ratios: evaluated.block_ratios,
        batches: percentiles::batches(&cells),
        connects: phases::connects(&cells),
        storage: rounds::storage(head, &cells),
        void,
        ..Results::default()
    };
    results.churn = churn::rows(study, &results, &cells)?;
    results.capacity = churn::capacity(head, &results);
    Ok(Estimated { results, cells })
}

fn cell_record(head: &Head, cell: &CellSamples<'_>) -> Result<CellRecord, EstimateError> {
    let reached = precision::of_cell(&head.study, cell)?;
    let name = &cell.cell.name;
    let server = head.servers.iter().find(|server| server.cells.contains(name));
    Ok(CellRecord {
        name: name.clone(),
        server_id: server.map(|server| server.id.clone()).unwrap_or_default(),
        server: server.map(|server| server.name.clone()).unwrap_or_default(),
        workers: cell.workers(),
        slice_s: cell.slice_seconds(),
        blocks: reached.blocks,
        void_slices: cell.void_slices(),
        client_bound: cell.is_client_bound(),
        precise: reached.precise,
        more_time_s: reached.more_time_s,
        rounds: cell.rounds.record(),
    })
}

fn void_row(sample: &Sample) -> Option<VoidRow> {
    Some(VoidRow {
        cell: sample.slice.cell.clone(),
        block: sample.slice.block,
        arm: sample.slice.arm.clone(),
        reason: sample.void.clone()?,
    })
}
