//! Why there is no data set.

use ciphertax_columns::CellError;
use ciphertax_engine::Failure;
use ciphertax_wire::WireError;

use super::schema::SCHEMA;

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A schema of the name exists that ciphertax did not make; what it is called there.
    #[error(
        "the server has a {0} named {SCHEMA} that ciphertax did not make; it is left alone: rename it, or measure \
         another server"
    )]
    NotOurs(&'static str),
    /// The server said no, or went away.
    #[error("the data set cannot be made: {0}")]
    Wire(#[from] WireError),
    /// The server said no, or went away, where its answers are known by their meaning alone.
    #[error("the data set cannot be made: {}", .0.message())]
    Failed(Failure),
    /// Somebody wanted to stop.
    #[error("the data set is not complete: stopped")]
    Stopped,
    /// Cells cannot be made of what is written. Nothing of it is in it.
    #[error("the cells of the data set cannot be made: {0}")]
    Cells(String),
    /// What is there is not what was written.
    #[error("the data set is not what was written: {0}")]
    Wrong(String),
    /// A condition of the specification does not hold: which, the clause that demands it, up to five rows that break it, and the
    /// clauses of all other conditions that do not hold either.
    #[error(
        "the tables are not consistent: clause {clause} ({condition}) does not hold: {}{}",
        .rows.join("; "),
        also(.others)
    )]
    Inconsistent {
        /// What it says.
        condition: &'static str,
        /// For example `3.3.2.1`.
        clause: &'static str,
        /// For example `w_id = 1, w_ytd = 300000.00, districts_ytd = 300000.01`.
        rows: Vec<String>,
        /// For example `3.3.2.8`.
        others: Vec<&'static str>,
    },
}

/// `; nor do 3.3.2.8, 3.3.2.9`
fn also(others: &[&str]) -> String {
    match others {
        [] => String::new(),
        [other] => format!("; nor does {other}"),
        others => format!("; nor do {}", others.join(", ")),
    }
}

/// Whether a check found all as it was written.
///
/// # Errors
/// Those that are about something else than what is there.
pub(super) fn is_right(checked: Result<(), DatasetError>) -> Result<bool, DatasetError> {
    match checked {
        Ok(()) => Ok(true),
        Err(DatasetError::Wrong(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

impl From<Failure> for DatasetError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<CellError> for DatasetError {
    fn from(error: CellError) -> Self {
        Self::Cells(error.to_string())
    }
}
