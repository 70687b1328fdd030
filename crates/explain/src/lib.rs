//! From samples to what they mean.
//!
//! [`explain`] is a pure function of the head of a run and its samples: it makes the same [`Run`] from the same folder
//! every time, which is how an old run gets a new report.

mod batches;
mod capacity;
mod cell;
mod churn;
mod connects;
mod estimates;
mod findings;
mod phases;
mod precision;
mod published;
mod sentence;

use ciphertax_model::Cell;
use ciphertax_records::{CellRecord, Run, Sample, ServerRecord, VoidRow};
use ciphertax_stats::StatsError;
use ciphertax_stats::histogram::HistogramError;

pub use precision::{CellPrecision, precision};

use crate::cell::CellSamples;

/// Why samples cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// A histogram in the samples cannot be read.
    #[error("samples.jsonl is damaged: {0}")]
    Histogram(#[from] HistogramError),
    /// Numbers that no measurement yields.
    #[error("the samples cannot be evaluated: {0}")]
    Stats(#[from] StatsError),
}

/// Fills in everything of a run that follows from its samples.
///
/// # Errors
/// When the samples are damaged.
pub fn explain(mut run: Run, samples: &[Sample]) -> Result<Run, ExplainError> {
    let study = run.study.clone();
    let cells: Vec<CellSamples<'_>> = study
        .cells
        .iter()
        .map(|cell| CellSamples::new(&study, cell, samples))
        .collect();

    run.elapsed_s = elapsed_s(samples);
    run.cells = cells
        .iter()
        .map(|cell| cell_record(&run, cell))
        .collect::<Result<_, _>>()?;
    let evaluated = estimates::evaluate(&study, &cells, &run.cells, run.seed)?;
    run.measurements = evaluated.measurements;
    run.estimates = evaluated.estimates;
    run.noise_floor = evaluated.noise_floor;
    run.by_kind = evaluated.by_kind;
    run.block_ratios = evaluated.block_ratios;
    run.batches = batches::rows(&cells);
    run.connect_phases = phases::rows(&cells, &run.measurements)?;
    run.connects = connects::rows(&cells);
    run.churn = churn::rows(&run, &cells)?;
    run.capacity = capacity::rows(&run);
    run.published = published::rows(&run);
    run.void = void_rows(samples);
    run.findings = findings::all(&run, &cells);
    run.verdict = sentence::verdict(&run);
    Ok(run)
}

fn cell_record(run: &Run, cell: &CellSamples<'_>) -> Result<CellRecord, ExplainError> {
    let reached = precision::of_cell(&run.study, cell)?;
    let server = server_of(run, cell.cell);
    Ok(CellRecord {
        name: cell.cell.name.clone(),
        workload: cell.cell.workload,
        server_id: server.map(|server| server.id.clone()).unwrap_or_default(),
        server: server.map(|server| server.name.clone()).unwrap_or_default(),
        link: run.study.link(cell.cell),
        command: cell.cell.command.clone(),
        connections: cell.cell.load.connections,
        workers: cell.samples().map(|sample| sample.workers).max().unwrap_or(0),
        poll_delay_us: cell.cell.load.poll_delay_us,
        pace: cell.cell.load.pace(),
        blocks: reached.blocks,
        void_slices: cell.samples().filter(|sample| !sample.is_valid()).count() as u32,
        client_bound: cell.is_client_bound(),
        precise: reached.precise,
        more_time_s: reached.more_time_s,
    })
}

/// The server of a cell, which says so. In records of former releases private ones are named for what their cells need, and the
/// user's own is the only one of its run.
fn server_of<'a>(run: &'a Run, cell: &Cell) -> Option<&'a ServerRecord> {
    let says_so = run
        .servers
        .iter()
        .find(|server| server.cells.contains(&cell.name));
    says_so
        .or_else(|| {
            let named = run.study.site(cell).to_string();
            run.servers.iter().find(|server| server.name == named)
        })
        .or(run.servers.first())
}

fn elapsed_s(samples: &[Sample]) -> f64 {
    let first = samples.iter().map(|sample| sample.start_ns).min().unwrap_or(0);
    let last = samples
        .iter()
        .map(|sample| sample.start_ns + sample.duration_ns)
        .max()
        .unwrap_or(first);
    (last - first) as f64 / 1e9
}

fn void_rows(samples: &[Sample]) -> Vec<VoidRow> {
    let row = |sample: &Sample| {
        Some(VoidRow {
            cell: sample.cell.clone(),
            block: sample.block,
            arm: sample.arm.clone(),
            reason: sample.void.clone()?,
        })
    };
    samples.iter().filter_map(row).collect()
}
