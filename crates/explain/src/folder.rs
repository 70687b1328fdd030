//! A run folder that is evaluated, and why one cannot be.

use std::io;
use std::path::Path;

use ciphertax_records::{RecordError, Recorded, Run};
use ciphertax_stats::StatsError;
use ciphertax_stats::histogram::HistogramError;
use thiserror::Error;

use crate::explain_with;

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
    Explain(#[from] ExplainError),
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
    let results = explain_with(&recorded.head, &recorded.samples, &looks, confirming.as_ref())?;
    Ok(Run::new(recorded.head, results))
}

/// Why samples cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The tables that it was measured on do not hold what was asked of them.
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
