//! From samples to what they mean.
//!
//! [`explain`] is a pure function of the head of a run and its samples: it makes the same [`Results`] from the same folder
//! every time, which is how a run gets its report again.

mod asked;
mod cell;
mod churn;
pub mod compare;
mod compared;
pub mod connection;
mod estimates;
mod facts;
mod findings;
mod folder;
pub mod gate;
mod percentiles;
mod phases;
mod precision;
mod published;
mod rounds;
mod sentence;
mod totals;
pub mod why;

use ciphertax_records::why::Looks;
use ciphertax_records::{CellRecord, Head, Results, Run, Sample, Samples, VoidRow};

pub use folder::{CONFIRMING, ExplainError, FolderError, explain_folder};
pub use precision::{CellPrecision, CellProgress, precision};

use crate::cell::CellSamples;

/// What follows from the head of a run, its samples and what was seen in those that were looked into, all of which are read
/// several times, one at a time.
///
/// # Errors
/// When the samples are damaged, or the tables that they were measured on are not consistent.
pub fn explain(
    head: &Head,
    samples: &(impl Samples + ?Sized),
    looks: &dyn Looks,
) -> Result<Results, ExplainError> {
    explain_with(head, samples, looks, None)
}

/// The same, beside a run that took away what bounds this one's cells.
///
/// # Errors
/// When the samples are damaged.
pub fn explain_with(
    head: &Head,
    samples: &(impl Samples + ?Sized),
    looks: &dyn Looks,
    confirming: Option<&Run>,
) -> Result<Results, ExplainError> {
    if let Some(why) = &head.inconsistent {
        return Err(ExplainError::Inconsistent(why.clone()));
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
    let connect_phases = phases::phases(&cells, samples, &evaluated.measurements)?;
    // What follows is made of what is known already.
    let mut run = Run::new(
        head.clone(),
        Results {
            elapsed_s: last_ns.saturating_sub(first_ns) as f64 / 1e9,
            cells: records,
            measurements: evaluated.measurements,
            estimates: evaluated.estimates,
            noise_floor: evaluated.noise_floor,
            by_kind: evaluated.by_kind,
            rates: percentiles::rates(&cells),
            block_ratios: evaluated.block_ratios,
            batches: percentiles::batches(&cells),
            connect_phases,
            connects: phases::connects(&cells),
            storage: rounds::storage(head, &cells),
            void,
            ..Results::default()
        },
    );
    run.results.churn = churn::rows(study, &run.results, &cells)?;
    run.results.capacity = churn::capacity(head, &run.results);
    run.results.published = published::rows(&run);
    run.results.why = why::why(head, &run.results, samples, looks, confirming)?;
    run.results.findings = findings::all(&run, &cells)?;
    run.results.verdict = sentence::verdict(&run);
    Ok(run.results)
}

fn cell_record(head: &Head, cell: &CellSamples<'_>) -> Result<CellRecord, ExplainError> {
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
