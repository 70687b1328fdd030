//! TPC-C's tables and mix (TPC Benchmark C, revision 5.11).

mod column;

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use column::{COLUMNS, ColumnShare, SqlType, StoredUse, TABLES, TpccColumn};

/// The tables that the workload `tpcc` asks, and how.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tpcc {
    /// Warehouses; each has 10 districts, 30,000 customers and 100,000 items in stock.
    pub warehouses: u32,
    /// Sessions that load side by side.
    pub load_workers: u32,
    /// Shares of the five transactions, in percent; `None` for decks of 23 cards (clause 5.2.4.2): 10 new-orders, 10 payments and one
    /// of each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<TpccWeights>,
    /// Whether statements are prepared once a connection, or sent as text.
    pub statements: StatementKind,
    /// Multiplies the keying and think times of clauses 5.2.5.2 and 5.2.5.4: 1 for theirs, 0 for none.
    pub pacing: f64,
    /// The isolation of all transactions; `None` for the server's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// Shares of the five transactions, in percent of all: together 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TpccWeights {
    /// New-order.
    pub new_order: f64,
    /// Payment.
    pub payment: f64,
    /// Order-status.
    pub order_status: f64,
    /// Delivery.
    pub delivery: f64,
    /// Stock-level.
    pub stock_level: f64,
}

impl TpccWeights {
    /// In the order of the workload's kinds, in percent.
    pub fn shares(&self) -> [f64; 5] {
        [
            self.new_order,
            self.payment,
            self.order_status,
            self.delivery,
            self.stock_level,
        ]
    }
}

/// How statements reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    /// Prepared once a connection; values are bound.
    #[default]
    Prepared,
    /// As text, with values in it.
    Text,
}

/// How transactions are isolated from each other, by the standard's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE, which is what TPC-C asks of all transactions but stock-level (clause 3.4).
    Serializable,
}

impl Tpcc {
    /// How many warehouses there may be: 100,000 are about 10 TB.
    pub const WAREHOUSES: RangeInclusive<u32> = 1..=100_000;
    /// How many sessions may load side by side.
    pub const LOAD_WORKERS: RangeInclusive<u32> = 1..=256;
    /// By what keying and think times may be multiplied.
    pub const PACING: RangeInclusive<f64> = 0.0..=10.0;
    /// Districts of a warehouse.
    pub const DISTRICTS: u32 = 10;
    /// Customers of a district.
    pub const CUSTOMERS: u32 = 3000;
    /// Items of all warehouses together, and in stock of each.
    pub const ITEMS: u32 = 100_000;
    /// Orders of a district before anything was asked.
    pub const ORDERS: u32 = 3000;
    /// The first of them that is not delivered yet.
    pub const FIRST_UNDELIVERED: u32 = 2101;

    /// Rows of all tables before anything was asked of them, with 10 lines in each order, their mean.
    pub fn rows(&self) -> u64 {
        let of_district =
            Self::CUSTOMERS * 2 + Self::ORDERS * 11 + (Self::ORDERS + 1 - Self::FIRST_UNDELIVERED);
        let of_warehouse = 1 + Self::DISTRICTS * (1 + of_district) + Self::ITEMS;
        u64::from(Self::ITEMS) + u64::from(self.warehouses) * u64::from(of_warehouse)
    }
}

impl Default for Tpcc {
    fn default() -> Self {
        Self {
            warehouses: 2,
            load_workers: 4,
            weights: None,
            statements: StatementKind::Prepared,
            pacing: 0.0,
            isolation: None,
        }
    }
}

/// `TPC-C tables of 2 warehouses`
impl fmt::Display for Tpcc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.warehouses {
            1 => f.write_str("TPC-C tables of 1 warehouse"),
            warehouses => write!(f, "TPC-C tables of {warehouses} warehouses"),
        }
    }
}
