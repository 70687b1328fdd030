//! One run as terminal text, HTML, JSON, Markdown, CSV and OpenMetrics; two runs side by side; a gate as JUnit too.
//!
//! Every output is a pure function of the [`Run`](ciphertax_records::Run): a report can be made again at any time. One file for
//! each output; what they share is in [`lookup`], [`words`] and [`describe`].

pub mod compare;
pub mod csv;
pub mod gate;
pub mod html;
pub mod json;
pub mod markdown;
pub mod openmetrics;
pub mod terminal;
pub mod why;

mod answer;
mod describe;
mod lookup;
mod storage;
mod way;
mod words;

use ciphertax_estimate::EstimateError;
use ciphertax_records::RecordError;

/// Why a report cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The HTML template and the record do not fit each other: a defect of this crate.
    #[error("the HTML report cannot be made: {0:#}")]
    Template(#[from] minijinja::Error),
    /// What the run folder has besides the record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It gives no pictures.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
}
