//! The nine tables: their columns, keys and rows, and what those of a set are called.

use std::fmt;

use ciphertax_model::Tpcc;
use ciphertax_model::tpcc::{COLUMNS, TABLES, TpccColumn};

/// One of the nine tables, in the order of [`TABLES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Warehouse,
    District,
    Customer,
    History,
    NewOrder,
    Oorder,
    OrderLine,
    Item,
    Stock,
}

/// An index besides the primary key.
pub(super) struct Secondary {
    /// What its name begins with; the table's follows.
    pub(super) name: &'static str,
    pub(super) columns: &'static [&'static str],
}

impl Table {
    /// All, in the order in which those of a warehouse are loaded: the large ones last, so that each is begun when the others are
    /// done.
    pub(super) const ALL: [Self; 9] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::NewOrder,
        Self::Oorder,
        Self::History,
        Self::OrderLine,
        Self::Customer,
        Self::Stock,
    ];

    pub(super) fn name(self) -> &'static str {
        TABLES[self as usize]
    }

    pub(super) fn columns(self) -> impl Iterator<Item = &'static TpccColumn> {
        COLUMNS.iter().filter(move |column| column.table == self.name())
    }

    /// The columns of the primary key, in the key's order; none for the one table that has no key.
    pub(super) fn primary_key(self) -> &'static [&'static str] {
        match self {
            Self::Warehouse => &["w_id"],
            Self::District => &["d_w_id", "d_id"],
            Self::Customer => &["c_w_id", "c_d_id", "c_id"],
            Self::History => &[],
            Self::NewOrder => &["no_w_id", "no_d_id", "no_o_id"],
            Self::Oorder => &["o_w_id", "o_d_id", "o_id"],
            Self::OrderLine => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            Self::Item => &["i_id"],
            Self::Stock => &["s_w_id", "s_i_id"],
        }
    }

    /// The index for customers by name, or that for the last order of a customer.
    pub(super) fn secondary(self) -> Option<Secondary> {
        match self {
            Self::Customer => Some(Secondary {
                name: "by_name_of",
                columns: &["c_w_id", "c_d_id", "c_last", "c_first"],
            }),
            Self::Oorder => Some(Secondary {
                name: "by_customer_of",
                columns: &["o_w_id", "o_d_id", "o_c_id", "o_id"],
            }),
            _ => None,
        }
    }

    /// What its rows of one warehouse are made from, in the order of the primary key: lines are made order by order.
    pub(super) fn units(self) -> u32 {
        match self {
            Self::Warehouse => 1,
            Self::District => Tpcc::DISTRICTS,
            Self::Customer | Self::History => Tpcc::DISTRICTS * Tpcc::CUSTOMERS,
            Self::NewOrder => Tpcc::DISTRICTS * (Tpcc::ORDERS + 1 - Tpcc::FIRST_UNDELIVERED),
            Self::Oorder | Self::OrderLine => Tpcc::DISTRICTS * Tpcc::ORDERS,
            Self::Item | Self::Stock => Tpcc::ITEMS,
        }
    }
}

/// What is loaded in one transaction: a table's rows of one warehouse; those of `item`, which all share, are the first's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) table: Table,
    pub(super) warehouse: u32,
}

impl Chunk {
    /// All of so many warehouses, warehouse by warehouse.
    pub(super) fn of(warehouses: u32) -> impl Iterator<Item = Self> {
        (1..=warehouses).flat_map(|warehouse| {
            let is_there = move |table: &Table| warehouse == 1 || *table != Table::Item;
            let of_warehouse = Table::ALL.into_iter().filter(is_there);
            of_warehouse.map(move |table| Self { table, warehouse })
        })
    }
}

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

#[cfg(test)]
mod tests {
    use ciphertax_model::tpcc::{ColumnShare, TABLES};

    use super::*;

    #[test]
    fn the_columns_of_primary_keys_are_the_first_share() {
        for table in Table::ALL {
            assert!(TABLES.contains(&table.name()));
            for column in table.columns() {
                let is_key = table.primary_key().contains(&column.column);
                assert_eq!(is_key, column.share == ColumnShare::Keys, "{}", column.column);
            }
            for name in table.secondary().map_or(&[][..], |index| index.columns) {
                assert!(table.columns().any(|column| column.column == *name), "{name}");
            }
        }
    }

    #[test]
    fn chunks_are_nine_for_the_first_warehouse_and_eight_for_each_other() {
        assert_eq!(Chunk::of(1).count(), 9);
        assert_eq!(Chunk::of(10).count(), 81);
    }
}
