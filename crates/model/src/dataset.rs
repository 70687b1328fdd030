//! Data sets: sysbench's, YCSB's, pgbench's.
//!
//! YCSB is the Yahoo! Cloud Serving Benchmark, in its own terms (B. F. Cooper et al., "Benchmarking cloud serving
//! systems with YCSB", SoCC 2010; defaults and core workloads of release 0.17); pgbench as PostgreSQL 15 and 18 have
//! it (`pgbench --initialize`).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all;
use crate::columns::ColumnSelection;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
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

/// The table `usertable` that the `ycsb` workloads ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct YcsbTable {
    /// Records (`recordcount`).
    pub record_count: u32,
    /// Fields of a record besides its key (`fieldcount`).
    pub field_count: u16,
    /// Bytes of a field (`fieldlength`).
    pub field_length: u32,
    /// Records of one insert when the table is loaded, and of one operation of `ycsb_load` (`batchsize`).
    pub batch_size: u32,
    /// Connections that load the table side by side (`threadcount` of the load phase).
    pub load_threads: u32,
    /// Whether what is read is compared with what was written (`dataintegrity`).
    pub verify: bool,
}

impl YcsbTable {
    /// The most fields there may be.
    pub const MOST_FIELDS: u32 = 100;
    /// The longest field in bytes.
    pub const LONGEST_FIELD: u32 = 1 << 20;
    /// The largest record in bytes: an insert of it must fit into any server's packets.
    pub const LARGEST_RECORD: u64 = 4 << 20;
    /// The most records of a batch.
    pub const LARGEST_BATCH: u32 = 10_000;
    /// The most connections that load.
    pub const MOST_LOADERS: u32 = 256;

    /// Bytes of the fields of all records.
    pub fn bytes(&self) -> u64 {
        u64::from(self.record_count) * self.record_bytes()
    }

    /// Bytes of the fields of a record.
    pub fn record_bytes(&self) -> u64 {
        u64::from(self.field_count) * u64::from(self.field_length)
    }
}

impl Default for YcsbTable {
    /// Records of 1 KB as in YCSB; 100,000 of them, which every server keeps in memory.
    fn default() -> Self {
        Self {
            record_count: 100_000,
            field_count: 10,
            field_length: 100,
            batch_size: 100,
            load_threads: 8,
            verify: false,
        }
    }
}

/// What share each kind of operation has, and how records are picked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct YcsbMix {
    /// Share of reads of a whole record (`readproportion`); the shares add up to 1.
    pub read: f64,
    /// Share of updates of one field (`updateproportion`).
    pub update: f64,
    /// Share of inserts (`insertproportion`).
    pub insert: f64,
    /// Share of scans of up to 100 records (`scanproportion`).
    pub scan: f64,
    /// Share of records read and then updated (`readmodifywriteproportion`).
    pub read_modify_write: f64,
    /// How records are picked (`requestdistribution`).
    pub distribution: RequestDistribution,
}

impl Default for YcsbMix {
    /// Nothing at all, so that a mix says all its shares.
    fn default() -> Self {
        Self {
            read: 0.0,
            update: 0.0,
            insert: 0.0,
            scan: 0.0,
            read_modify_write: 0.0,
            distribution: RequestDistribution::Zipfian,
        }
    }
}

impl YcsbMix {
    /// The shares, in the order of YCSB: read, update, insert, scan, read-modify-write.
    pub fn shares(&self) -> [f64; 5] {
        [
            self.read,
            self.update,
            self.insert,
            self.scan,
            self.read_modify_write,
        ]
    }

    /// True if the table differs afterwards.
    pub fn writes(&self) -> bool {
        self.update > 0.0 || self.insert > 0.0 || self.read_modify_write > 0.0
    }
}

/// How records are picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RequestDistribution {
    /// Every record as often as any other.
    Uniform,
    /// A few records are picked most often; they are scattered over the table.
    #[default]
    Zipfian,
    /// The records inserted last are picked most often.
    Latest,
}

impl RequestDistribution {
    /// The name used in study files and by YCSB.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl ColumnSelection {
    /// By field, whether it is encrypted.
    ///
    /// # Errors
    /// Says which name is no field's, or that the selection is one of TPC-C's columns.
    pub fn ycsb_fields(&self, field_count: u16) -> Result<Vec<bool>, String> {
        let each = |is_encrypted| vec![is_encrypted; usize::from(field_count)];
        let names = match self {
            Self::None => return Ok(each(false)),
            Self::All => return Ok(each(true)),
            Self::Named(names) => names,
            Self::Keys | Self::Half | Self::Payload => {
                return Err(format!(
                    "{self} are TPC-C's; of YCSB's table take \"all\", or fields by their names: [\"field0\"]"
                ));
            }
        };
        let mut fields = each(false);
        for name in names {
            let field = (0..fields.len()).find(|field| *name == format!("field{field}"));
            match field {
                Some(field) => fields[field] = true,
                None => {
                    let last = field_count.saturating_sub(1);
                    return Err(format!(
                        "{name:?} is no field of YCSB's table, which has field0 to field{last}"
                    ));
                }
            }
        }
        Ok(fields)
    }
}

/// The tables that the `pgbench` workloads ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pgbench {
    /// Branches (`--scale`); each has 10 tellers and 100,000 accounts.
    pub scale: u32,
}

impl Pgbench {
    /// The most branches there may be: 100 million accounts, about 15 GB.
    pub const MOST_BRANCHES: u32 = 1000;
    /// Tellers of a branch.
    pub const TELLERS: u32 = 10;
    /// Accounts of a branch.
    pub const ACCOUNTS: u32 = 100_000;

    /// Rows of `pgbench_tellers`.
    pub fn tellers(&self) -> u32 {
        self.scale * Self::TELLERS
    }

    /// Rows of `pgbench_accounts`.
    pub fn accounts(&self) -> u32 {
        self.scale * Self::ACCOUNTS
    }

    /// Rows of all tables before anything was asked of them.
    pub fn rows(&self) -> u64 {
        u64::from(self.scale) + u64::from(self.tellers()) + u64::from(self.accounts())
    }
}

impl Default for Pgbench {
    /// pgbench's own.
    fn default() -> Self {
        Self { scale: 1 }
    }
}

/// `pgbench of scale 10`
impl fmt::Display for Pgbench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pgbench of scale {}", self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_all_none_or_those_of_these_names() {
        let named = |names: &[&str]| ColumnSelection::Named(names.iter().map(|&name| name.into()).collect());
        for (selection, expected) in [
            (ColumnSelection::All, Ok(vec![true; 3])),
            (ColumnSelection::None, Ok(vec![false; 3])),
            (named(&["field2", "field0"]), Ok(vec![true, false, true])),
            (named(&["field3"]), Err("\"field3\" is no field")),
            (named(&["FIELD0"]), Err("\"FIELD0\" is no field")),
            (named(&["field00"]), Err("\"field00\" is no field")),
            (named(&["customer.c_last"]), Err("is no field")),
            (ColumnSelection::Half, Err("half of the columns are TPC-C's")),
        ] {
            match (selection.ycsb_fields(3), expected) {
                (Ok(fields), Ok(expected)) => assert_eq!(fields, expected),
                (Err(problem), Err(expected)) => assert!(problem.contains(expected), "{problem}"),
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        }
    }
}
