//! What goes wrong when samples are explained.

use std::io;

use ciphertax_stats::StatsError;
use ciphertax_stats::histogram::HistogramError;

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
