//! A run folder that is evaluated, and why one cannot be.

use std::path::Path;

use ciphertax_estimate::EstimateError;
use ciphertax_records::{RecordError, Recorded, Run};
use thiserror::Error;

use crate::explain;

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
