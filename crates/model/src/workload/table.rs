//! The table of workloads: a new one has its row here, and its file in the crate `workload`.

use super::{Descriptor, Mix, Tables, Unit, Vocabulary, Workload};
use crate::all;
use crate::dataset::{RequestDistribution, YcsbMix};

/// Counts of cells: those that the client encrypted, those that it decrypted, and those of columns that are named as encrypted,
/// sent or received, without those that are NULL. The first two add up to the third, or a slice does not count.
pub const CELLS: [&str; 3] = ["cells_encrypted", "cells_decrypted", "cells_named"];

/// Counts of what TPC-C does not do in operations that succeed: new orders that are rolled back because the specification asks
/// for it of one in a hundred, and districts without an undelivered order, which deliveries pass over.
pub const NOT_DONE: [&str; 2] = ["rolled_back", "skipped_deliveries"];

/// The count of reads that did not find a record inserted before, since the member of a replica set that was asked did not have
/// it yet. They succeed.
pub const STALE_READS: [&str; 1] = ["stale_reads"];

impl Workload {
    /// Every workload, in the order help texts list them.
    pub const ALL: [Self; 27] = all();

    /// What it is.
    pub const fn descriptor(self) -> &'static Descriptor {
        match self {
            Self::OltpDelete => &Descriptor {
                asks: "one row deleted by primary key, prepared statement",
                deletes_rows: true,
                ..WRITE
            },
            Self::OltpInsert => &Descriptor {
                asks: "one row inserted",
                kinds: &["insert"],
                ..WRITE
            },
            Self::OltpPointSelect => &Descriptor {
                asks: "one row by primary key, prepared statement",
                operation: Unit::Lookup,
                kinds: &["point_select"],
                ..READ
            },
            Self::OltpReadOnly => &Descriptor {
                asks: "transaction of 14 selects, prepared statements",
                ..READ
            },
            Self::OltpReadWrite => &Descriptor {
                asks: "transaction of 14 selects and 4 writes, prepared statements",
                writes: true,
                ..READ
            },
            Self::OltpUpdateIndex => &Descriptor {
                asks: "an indexed column of one row updated, prepared statement",
                ..WRITE
            },
            Self::OltpUpdateNonIndex => &Descriptor {
                asks: "a column of one row updated, prepared statement",
                ..WRITE
            },
            Self::OltpWriteOnly => &Descriptor {
                asks: "transaction of 4 writes, prepared statements",
                ..WRITE
            },
            Self::SelectRandomPoints => &Descriptor {
                asks: "rows of 10 indexed values, prepared statement",
                ..SELECT_RANDOM
            },
            Self::SelectRandomRanges => &Descriptor {
                asks: "rows counted in 10 ranges of an index, prepared statement",
                ..SELECT_RANDOM
            },
            Self::BulkInsert => &Descriptor {
                asks: "statements of 512 KiB that insert small rows",
                tables: None,
                kinds: &["bulk_insert"],
                ..WRITE
            },
            Self::Connect => &Descriptor {
                asks: "new connection, one query, close",
                tables: Some(Tables::OfLookup),
                operation: Unit::ConnectionWithLookup,
                reads: true,
                ..CONNECT
            },
            Self::ConnectInsertCount => &Descriptor {
                asks: "new connection, one row inserted and counted, close",
                vocabulary: Vocabulary::Sql,
                reads: true,
                writes: true,
                ..CONNECT
            },
            Self::ConnectOnly => &Descriptor {
                asks: "new connection, close",
                ..CONNECT
            },
            Self::BulkRead => &Descriptor {
                asks: "results of 1 MiB",
                tables: Some(Tables::Bulk),
                operation: Unit::BulkResult,
                kinds: &["bulk_read"],
                ..READ
            },
            Self::PgbenchSelectOnly => &Descriptor {
                asks: "the balance of one account by primary key, prepared statement",
                tables: Some(Tables::Pgbench),
                operation: Unit::Lookup,
                kinds: &["select"],
                ..READ
            },
            Self::PgbenchTpcbLike => &Descriptor {
                asks: "transaction of 3 updates, a select and an insert, prepared statements",
                tables: Some(Tables::Pgbench),
                writes: true,
                ..READ
            },
            Self::Tpcc => &Descriptor {
                asks: "TPC-C's five transactions",
                tables: Some(Tables::Tpcc),
                kinds: &["new_order", "payment", "order_status", "delivery", "stock_level"],
                counts: &[CELLS[0], CELLS[1], CELLS[2], NOT_DONE[0], NOT_DONE[1]],
                writes: true,
                ..READ
            },
            Self::YcsbA => &Descriptor {
                asks: "half reads, half updates of records",
                mix: MIX_A,
                ..YCSB
            },
            Self::YcsbB => &Descriptor {
                asks: "reads of records, 5 % updates",
                mix: MIX_B,
                ..YCSB
            },
            Self::YcsbC => &Descriptor {
                asks: "reads of records",
                operation: Unit::Lookup,
                writes: false,
                mix: MIX_C,
                ..YCSB
            },
            Self::YcsbD => &Descriptor {
                asks: "reads of the latest records, 5 % inserts",
                mix: MIX_D,
                ..YCSB
            },
            Self::YcsbE => &Descriptor {
                asks: "scans of records, 5 % inserts",
                mix: MIX_E,
                ..YCSB
            },
            Self::YcsbF => &Descriptor {
                asks: "half reads, half reads with updates of records",
                mix: MIX_F,
                ..YCSB
            },
            Self::Ycsb => &Descriptor {
                asks: "records, in a mix of your own",
                ..YCSB
            },
            Self::YcsbLoad => &Descriptor {
                asks: "records inserted in batches",
                kinds: &["insert"],
                reads: false,
                mix: Mix::None,
                ..YCSB
            },
            Self::Command => &Descriptor {
                asks: "a program of your own",
                vocabulary: Vocabulary::Program,
                tables: Some(Tables::All),
                kinds: &[],
                writes: true,
                ..READ
            },
        }
    }
}

/// A read over SQL, of connections that stay open.
const READ: Descriptor = Descriptor {
    asks: "",
    vocabulary: Vocabulary::Sql,
    tables: Some(Tables::Sbtest),
    operation: Unit::Operation,
    kinds: &["transaction"],
    counts: &[],
    makes_connections: false,
    reads: true,
    writes: false,
    deletes_rows: false,
    mix: Mix::None,
};

/// A statement or a transaction that writes.
const WRITE: Descriptor = Descriptor {
    reads: false,
    writes: true,
    ..READ
};

/// A select of many values.
const SELECT_RANDOM: Descriptor = Descriptor {
    kinds: &["select"],
    ..READ
};

/// New connections that ask nothing of the data set.
const CONNECT: Descriptor = Descriptor {
    vocabulary: Vocabulary::Connect,
    tables: None,
    kinds: &["connect"],
    makes_connections: true,
    reads: false,
    ..READ
};

/// One of YCSB's mixes.
const YCSB: Descriptor = Descriptor {
    vocabulary: Vocabulary::KeyValue,
    tables: Some(Tables::Usertable),
    kinds: &["read", "update", "insert", "scan", "read_modify_write"],
    counts: &[CELLS[0], CELLS[1], CELLS[2], STALE_READS[0]],
    mix: Mix::OfCell,
    writes: true,
    ..READ
};

/// Shares of YCSB's core workloads: reads, updates, inserts, scans, and records read and then updated.
const MIX_A: Mix = core([0.5, 0.5, 0.0, 0.0, 0.0], RequestDistribution::Zipfian);
const MIX_B: Mix = core([0.95, 0.05, 0.0, 0.0, 0.0], RequestDistribution::Zipfian);
const MIX_C: Mix = core([1.0, 0.0, 0.0, 0.0, 0.0], RequestDistribution::Zipfian);
const MIX_D: Mix = core([0.95, 0.0, 0.05, 0.0, 0.0], RequestDistribution::Latest);
const MIX_E: Mix = core([0.0, 0.0, 0.05, 0.95, 0.0], RequestDistribution::Zipfian);
const MIX_F: Mix = core([0.5, 0.0, 0.0, 0.0, 0.5], RequestDistribution::Zipfian);

const fn core(shares: [f64; 5], distribution: RequestDistribution) -> Mix {
    let [read, update, insert, scan, read_modify_write] = shares;
    Mix::Core(YcsbMix {
        read,
        update,
        insert,
        scan,
        read_modify_write,
        distribution,
    })
}
