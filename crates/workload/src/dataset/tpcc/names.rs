//! What the tables of a set are called.

use std::fmt;

/// What the tables of a set are called: `customer`, or `customer_2` where there are several sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableNames {
    set: Option<u32>,
}

impl TableNames {
    /// Of the only set.
    pub const ONLY: Self = Self { set: None };

    /// Of the set with this number.
    pub fn of_set(set: u32) -> Self {
        Self { set: Some(set) }
    }

    /// What this set calls a table, such as `customer`.
    pub fn of(self, table: &'static str) -> TableName {
        TableName { table, set: self.set }
    }
}

/// A table of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableName {
    table: &'static str,
    set: Option<u32>,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.set {
            None => f.write_str(self.table),
            Some(set) => write!(f, "{}_{set}", self.table),
        }
    }
}
