//! The Yahoo! Cloud Serving Benchmark: its table and its mixes, in its own terms (B. F. Cooper et al., "Benchmarking cloud
//! serving systems with YCSB", SoCC 2010; defaults and core workloads of release 0.17).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        match self {
            Self::Uniform => "uniform",
            Self::Zipfian => "zipfian",
            Self::Latest => "latest",
        }
    }
}
