//! What the figures of a run mean: why arms cost what they do, findings, and the verdict.
//!
//! [`explain`] is a pure function of the head of a run, its samples and its looks: it makes the same [`Results`] from the same folder
//! every time, which is how a run gets its report again.

mod answer;
mod asked;
pub mod compare;
pub mod connection;
mod facts;
mod findings;
pub mod gate;
mod published;
pub mod why;

use std::path::Path;

use ciphertax_estimate::{EstimateError, Estimated, estimate};
use ciphertax_records::why::Looks;
use ciphertax_records::{Head, RecordError, Recorded, Results, Run, Samples};
use thiserror::Error;

/// What follows from the head of a run, its samples and what was seen in those that were looked into, all of which are read
/// several times, one at a time; beside a run that took away what bounds its cells, where there is one.
///
/// # Errors
/// When the samples are damaged, or the tables that they were measured on are not consistent.
pub fn explain(
    head: &Head,
    samples: &(impl Samples + ?Sized),
    looks: &dyn Looks,
    confirming: Option<&Run>,
) -> Result<Results, EstimateError> {
    let Estimated { results, cells } = estimate(head, samples)?;
    let mut run = Run::new(head.clone(), results);
    run.results.published = published::rows(&run);
    run.results.why = why::why(
        &why::by_rules(head),
        head,
        &run.results,
        samples,
        looks,
        confirming,
    )?;
    run.results.findings = findings::all(&run, &cells)?;
    run.results.verdict = answer::headline(&run);
    Ok(run.results)
}

/// Where in a run folder the run is that took away what bounds its cells.
pub const CONFIRMING: &str = "confirm";

/// Why a run folder cannot be explained.
#[derive(Debug, Error)]
pub enum FolderError {
    /// It cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It is damaged.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
}

/// The run in a folder, with the results that follow from what was measured.
///
/// # Errors
/// When it cannot be read, or is damaged.
pub fn explain_folder(folder: &Path) -> Result<Run, FolderError> {
    let recorded = Recorded::open(folder)?;
    let looks = recorded.looks()?;
    let confirming = folder.join(CONFIRMING);
    let confirming = match confirming.is_dir() {
        true => Some(explain_folder(&confirming)?),
        false => None,
    };
    let results = explain(&recorded.head, &recorded.samples, &looks, confirming.as_ref())?;
    Ok(Run::new(recorded.head, results))
}
