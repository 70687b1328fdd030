//! The tables as the workloads find them.

use ciphertax_engine::Failure;
use ciphertax_model::{Dataset, Study};

/// The tables as the workloads find them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// How many, how large, and how rows are picked.
    pub dataset: Dataset,
    /// True if a workload of the same study deletes rows for good, so that a row that is not there is no error.
    pub thinned: bool,
}

impl Tables {
    /// The tables of this study.
    pub fn of(study: &Study) -> Self {
        Self {
            dataset: study.dataset,
            thinned: study
                .cells
                .iter()
                .any(|cell| cell.workload.descriptor().deletes_rows),
        }
    }

    /// Makes sure that a select of `asked` consecutive rows from `id` on gave what it must. Inserted rows may follow
    /// those of the data set.
    pub(crate) fn check(&self, id: u32, asked: u32, rows: u64) -> Result<(), Failure> {
        let there = asked.min(self.dataset.table_size - id + 1);
        let least = if self.thinned { 0 } else { there };
        if (u64::from(least)..=u64::from(asked)).contains(&rows) {
            return Ok(());
        }
        Err(Failure::Error(format!(
            "{asked} rows from id {id} on have {rows} rows; expected {there}: was the table changed?"
        )))
    }
}
