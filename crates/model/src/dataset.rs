//! The tables that the `oltp` workloads ask, in sysbench's terms.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::variants::all;

/// The tables `sbtest1`, `sbtest2`, … that the `oltp` workloads ask, in sysbench's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dataset {
    /// Tables (`--tables`).
    pub tables: u32,
    /// Rows of each table (`--table-size`).
    pub table_size: u32,
    /// How rows are picked, when they are asked for and for the indexed column `k` when they are made (`--rand-type`).
    pub distribution: Distribution,
}

impl Dataset {
    /// The most tables there may be.
    pub const MOST_TABLES: u32 = 10_000;
    /// The most rows a table may have: 20 GB, and far from the end of ids, which are signed integers of 32 bits.
    pub const MOST_ROWS: u32 = 100_000_000;

    /// Rows of all tables together.
    pub fn rows(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.table_size)
    }
}

impl Default for Dataset {
    /// One table of 100,000 rows: with its index some 30 MB, which every server keeps in memory.
    fn default() -> Self {
        Self {
            tables: 1,
            table_size: 100_000,
            distribution: Distribution::default(),
        }
    }
}

impl fmt::Display for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.tables == 1 { "" } else { "s" };
        write!(
            f,
            "{} table{plural} of {} rows, {}",
            self.tables,
            self.table_size,
            self.distribution.name()
        )
    }
}

/// How rows are picked, with the parameters that sysbench has by default.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Distribution {
    /// Every row as often as any other.
    Uniform,
    /// Three quarters of the picks fall into one percent of the rows, in the middle; the others are bell-shaped around
    /// it. The default of sysbench 1.0.
    #[default]
    Special,
    /// Four fifths of the picks fall into the first fifth of the rows, and so on within it (h = 0.2).
    Pareto,
    /// The row of rank r is picked in proportion to r to the power of −0.8.
    Zipfian,
}

impl Distribution {
    /// Every distribution, in the order help texts list them.
    pub const ALL: [Self; 4] = all();

    /// The name used in study files and by sysbench.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
