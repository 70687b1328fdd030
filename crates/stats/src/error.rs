//! Why a series has no estimate.

/// Why a series has no estimate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// One block has no spread.
    #[error("an interval needs at least 2 blocks, there are {blocks}")]
    TooFewBlocks {
        /// How many there are.
        blocks: usize,
    },
    /// The series of a pair have different lengths, so their blocks cannot be paired.
    #[error("the baseline has {baseline} blocks and the variant {variant}: they cannot be paired")]
    Unpaired {
        /// Blocks of the baseline.
        baseline: usize,
        /// Blocks of the variant.
        variant: usize,
    },
    /// A value is infinite or not a number.
    #[error("the value of block {block} is {value}, not a finite number")]
    NotFinite {
        /// Position in the series, from 0.
        block: usize,
        /// The value.
        value: f64,
    },
    /// A value has no logarithm.
    #[error("the value of block {block} is {value}; a ratio needs values above zero")]
    NotPositive {
        /// Position in the series, from 0.
        block: usize,
        /// The value.
        value: f64,
    },
    /// A histogram without values has no percentile.
    #[error("the histogram of block {block} is empty")]
    EmptyHistogram {
        /// Position in the series, from 0.
        block: usize,
    },
}

/// Refuses a series with a value that is not finite.
pub(crate) fn check_finite(series: &[f64]) -> Result<(), StatsError> {
    match series.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((block, &value)) => Err(StatsError::NotFinite { block, value }),
    }
}
