//! One run as terminal text, HTML and JSON.
//!
//! Every output is a pure function of the [`Run`](ciphertax_records::Run): a report can be made again, by a
//! later version, from an old run. One file for each output; what they share is in [`format`] and [`lookup`].

pub mod html;
pub mod json;
pub mod schema;
pub mod terminal;

mod answer;
mod format;
mod groups;
mod lookup;
mod words;

/// Why a report cannot be made or a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The text is not a run record.
    #[error("run.json cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// The record was written in another version of the format.
    #[error(
        "run.json has the format {found:?}, this release reads {expected:?}: use the release that wrote it"
    )]
    Schema {
        /// The version in the record.
        found: String,
        /// The version this release reads.
        expected: &'static str,
    },
    /// The HTML template and the record do not fit each other: a defect of this crate.
    #[error("the HTML report cannot be made: {0:#}")]
    Template(#[from] minijinja::Error),
}
