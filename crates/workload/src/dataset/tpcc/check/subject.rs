//! Rows that conditions are about, and what is summed up of other tables for each.

use super::condition::Condition;

/// Rows of a table that conditions are about.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) table: &'static str,
    pub(super) keys: &'static [&'static str],
    /// Of the row itself.
    pub(super) values: &'static [Value],
    pub(super) sides: &'static [Side],
    pub(super) conditions: &'static [Condition],
    /// Values that are summed up over all rows.
    pub(super) measures: &'static [Measure],
}

/// What is summed up of another table for each row of a [`Subject`].
#[derive(Debug)]
pub(super) struct Side {
    /// The columns that it is grouped by, each with the one of the row that it equals.
    pub(super) keys: &'static [Join],
    /// The same of tables that it is joined of.
    pub(super) inner_keys: &'static [Join],
    /// Columns that it computes with besides those of its values.
    pub(super) columns: &'static [&'static str],
    /// What stands between its values and `GROUP BY`, tables as `{customer}`.
    pub(super) from: &'static str,
    pub(super) values: &'static [Value],
}

/// Two columns that are compared with each other.
pub(super) type Join = (&'static str, &'static str);

/// A value of a row, or of all rows of a group.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
    /// The columns that it computes with; being NULL or not is no computation.
    pub(super) columns: &'static [&'static str],
}

/// A number about all rows of a [`Subject`].
#[derive(Debug)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
    /// The value that it is about, by its name.
    pub(super) of: &'static str,
}

/// A column as it is.
pub(super) const fn column(of: &'static [&'static str; 1]) -> Value {
    value(of[0], of[0], of)
}

pub(super) const fn value(name: &'static str, sql: &'static str, columns: &'static [&'static str]) -> Value {
    Value { name, sql, columns }
}

pub(super) const fn measure(name: &'static str, sql: &'static str, of: &'static str) -> Measure {
    Measure { name, sql, of }
}
