//! Which columns of which tables are encrypted.

use std::collections::HashMap;

/// Names of columns: with the name of a table (`customer.c_last`), or of whatever table (`field0`).
#[derive(Debug, Clone, Default)]
pub(super) struct Policy {
    /// The tables that have it, by the column's name; `None` for all tables.
    tables: HashMap<Vec<u8>, Vec<Option<Vec<u8>>>>,
}

impl Policy {
    pub(super) fn new(names: &[String]) -> Self {
        let mut tables: HashMap<Vec<u8>, Vec<Option<Vec<u8>>>> = HashMap::new();
        for name in names {
            let (table, column) = match name.split_once('.') {
                Some((table, column)) => (Some(table), column),
                None => (None, name.as_str()),
            };
            let of_column = tables.entry(column.into()).or_default();
            of_column.push(table.map(Into::into));
        }
        Self { tables }
    }

    /// True if it names this column of this table, or of the set of tables that this one is of.
    pub(super) fn names(&self, table: &[u8], column: &[u8]) -> bool {
        // What is computed is of no table.
        if table.is_empty() {
            return false;
        }
        let Some(tables) = self.tables.get(column) else {
            return false;
        };
        tables
            .iter()
            .any(|named| named.as_ref().is_none_or(|named| is_of_set(table, named)))
    }
}

/// True for the name itself, and for one with the number of a set behind it: `customer_2`.
fn is_of_set(table: &[u8], named: &[u8]) -> bool {
    match table.strip_prefix(named) {
        None => false,
        Some([]) => true,
        Some([b'_', number @ ..]) => !number.is_empty() && number.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_named_in_its_table_and_in_the_sets_of_it() {
        let policy = Policy::new(&["customer.c_last".into(), "stock.s_data".into(), "field0".into()]);
        for (table, column, is_named) in [
            ("customer", "c_last", true),
            ("customer_2", "c_last", true),
            ("customer_12", "c_last", true),
            ("customer_", "c_last", false),
            ("customer_x", "c_last", false),
            ("customer2", "c_last", false),
            ("customer_2_3", "c_last", false),
            ("customers", "c_last", false),
            ("old_customer", "c_last", false),
            ("customer", "c_first", false),
            ("customer", "s_data", false),
            ("stock", "s_data", true),
            ("usertable", "field0", true),
            ("usertable", "field1", false),
            ("", "field0", false),
            ("", "c_last", false),
        ] {
            assert_eq!(
                policy.names(table.as_bytes(), column.as_bytes()),
                is_named,
                "{table}.{column}"
            );
        }
    }
}
