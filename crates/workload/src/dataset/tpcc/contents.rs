//! Which sets of tables a study needs.

use ciphertax_columns::MasterKey;
use ciphertax_model::tpcc::{COLUMNS, TpccColumn};
use ciphertax_model::{Arm, ColumnEncryption, ColumnFeature, Study, Tpcc};

use super::cells::Cells;
use super::names::TableNames;
use crate::dataset::DatasetError;

/// Changes with what the tables hold, so that nothing of another version is taken for right.
const CONTENT: &str = "content 1";

/// TPC-C's tables.
#[derive(Debug, Clone, PartialEq)]
pub struct TpccContents {
    /// How large they are.
    pub tables: Tpcc,
    /// One set for all arms; or one for each measured arm, in their order, where any stores cells.
    pub sets: Vec<TpccSet>,
    /// What stored cells are encrypted with; needed where a set has any.
    pub key: Option<MasterKey>,
}

/// A set of TPC-C's tables.
#[derive(Debug, Clone, PartialEq)]
pub struct TpccSet {
    /// What they are called.
    pub names: TableNames,
    /// Which columns hold cells; `None` for plain ones.
    pub stored: Option<ColumnEncryption>,
}

impl TpccSet {
    /// True if a column of its tables holds cells.
    pub fn holds_cells(&self, table: &str, column: &str) -> bool {
        let is_it = |found: &&TpccColumn| found.table == table && found.column == column;
        match (&self.stored, COLUMNS.iter().find(is_it)) {
            (Some(stored), Some(column)) => column.is_in(&stored.columns),
            _ => false,
        }
    }
}

impl TpccContents {
    /// One set of plain tables.
    pub fn plain(tables: Tpcc) -> Self {
        Self {
            tables,
            sets: vec![TpccSet {
                names: TableNames::ONLY,
                stored: None,
            }],
            key: None,
        }
    }

    /// What a study needs, still without a key.
    pub fn of(study: &Study) -> Self {
        let stored = |columns: &ColumnEncryption| columns.feature == ColumnFeature::Stored;
        let measured = study.measured_arms();
        let are_stored = measured
            .iter()
            .any(|arm| arm.columns.as_ref().is_some_and(stored));
        if !are_stored {
            return Self::plain(study.tpcc);
        }
        let set = |(set, arm): (u32, Arm)| TpccSet {
            names: TableNames::of_set(set),
            stored: arm.columns.filter(stored),
        };
        Self {
            tables: study.tpcc,
            sets: (0..).zip(measured).map(set).collect(),
            key: None,
        }
    }

    /// Rows of all tables of all sets, about.
    pub fn rows(&self) -> u64 {
        self.tables.rows() * self.sets.len() as u64
    }

    /// What makes the cells of each set, for one session; `None` for a plain set.
    ///
    /// # Errors
    /// When there is no key, or the library lacks the algorithm.
    pub(super) fn cells(&self) -> impl Iterator<Item = Result<Option<Cells>, DatasetError>> {
        self.sets.iter().map(|set| {
            let Some(stored) = &set.stored else {
                return Ok(None);
            };
            let Some(key) = &self.key else {
                return Err(DatasetError::Cells("there is no master key".to_owned()));
            };
            let cells = Cells::open(stored, key).map_err(|error| DatasetError::Cells(error.to_string()))?;
            Ok(Some(cells))
        })
    }

    /// What they hold, in few words: of several sets a number that changes with what any of them holds and with the key, so that
    /// what was encrypted with another is not taken for right.
    pub(crate) fn description(&self) -> String {
        let stored = |set: &TpccSet| match &set.stored {
            None => "plain".to_owned(),
            Some(stored) => stored.to_string(),
        };
        let sets: Vec<String> = self.sets.iter().map(stored).collect();
        let sets = match (self.sets.len(), &self.key) {
            (1, None) => String::new(),
            (number, None) => format!(" in {number} sets without a key"),
            (number, Some(key)) => match key.fingerprint(&sets.join("; ")) {
                Ok(fingerprint) => format!(" in {number} sets, {fingerprint}"),
                // Whoever cannot tell them apart makes them anew.
                Err(_) => format!(" in {number} sets of an unknown key"),
            },
        };
        format!("{}{sets}, {CONTENT}", self.tables)
    }
}
