//! The table of workloads: a new one has its row here, and its file in the crate `workload`.

use super::{Descriptor, Mix, Tables, Unit, Vocabulary, Workload};
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
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Command; TABLE.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = TABLE[index].workload;
            index += 1;
        }
        all
    };

    /// What it is.
    pub const fn descriptor(self) -> &'static Descriptor {
        &TABLE[self as usize]
    }
}

/// All workloads, in the order of the type's variants.
const TABLE: &[Descriptor] = &[
    Descriptor {
        workload: Workload::OltpDelete,
        name: "oltp_delete",
        asks: "one row deleted by primary key, prepared statement",
        deletes_rows: true,
        ..WRITE
    },
    Descriptor {
        workload: Workload::OltpInsert,
        name: "oltp_insert",
        asks: "one row inserted",
        kinds: &["insert"],
        ..WRITE
    },
    Descriptor {
        workload: Workload::OltpPointSelect,
        name: "oltp_point_select",
        asks: "one row by primary key, prepared statement",
        operation: Unit::Lookup,
        kinds: &["point_select"],
        ..READ
    },
    Descriptor {
        workload: Workload::OltpReadOnly,
        name: "oltp_read_only",
        asks: "transaction of 14 selects, prepared statements",
        ..READ
    },
    Descriptor {
        workload: Workload::OltpReadWrite,
        name: "oltp_read_write",
        asks: "transaction of 14 selects and 4 writes, prepared statements",
        writes: true,
        ..READ
    },
    Descriptor {
        workload: Workload::OltpUpdateIndex,
        name: "oltp_update_index",
        asks: "an indexed column of one row updated, prepared statement",
        ..WRITE
    },
    Descriptor {
        workload: Workload::OltpUpdateNonIndex,
        name: "oltp_update_non_index",
        asks: "a column of one row updated, prepared statement",
        ..WRITE
    },
    Descriptor {
        workload: Workload::OltpWriteOnly,
        name: "oltp_write_only",
        asks: "transaction of 4 writes, prepared statements",
        ..WRITE
    },
    Descriptor {
        workload: Workload::SelectRandomPoints,
        name: "select_random_points",
        asks: "rows of 10 indexed values, prepared statement",
        ..SELECT_RANDOM
    },
    Descriptor {
        workload: Workload::SelectRandomRanges,
        name: "select_random_ranges",
        asks: "rows counted in 10 ranges of an index, prepared statement",
        ..SELECT_RANDOM
    },
    Descriptor {
        workload: Workload::BulkInsert,
        name: "bulk_insert",
        asks: "statements of 512 KiB that insert small rows",
        tables: None,
        kinds: &["bulk_insert"],
        ..WRITE
    },
    Descriptor {
        workload: Workload::Connect,
        name: "connect",
        asks: "new connection, one query, close",
        tables: Some(Tables::OfLookup),
        operation: Unit::ConnectionWithLookup,
        reads: true,
        ..CONNECT
    },
    Descriptor {
        workload: Workload::ConnectInsertCount,
        name: "connect_insert_count",
        asks: "new connection, one row inserted and counted, close",
        vocabulary: Vocabulary::Sql,
        reads: true,
        writes: true,
        ..CONNECT
    },
    Descriptor {
        workload: Workload::ConnectOnly,
        name: "connect_only",
        asks: "new connection, close",
        ..CONNECT
    },
    Descriptor {
        workload: Workload::BulkRead,
        name: "bulk_read",
        asks: "results of 1 MiB",
        tables: Some(Tables::Bulk),
        operation: Unit::BulkResult,
        kinds: &["bulk_read"],
        ..READ
    },
    Descriptor {
        workload: Workload::PgbenchSelectOnly,
        name: "pgbench_select_only",
        asks: "the balance of one account by primary key, prepared statement",
        tables: Some(Tables::Pgbench),
        operation: Unit::Lookup,
        kinds: &["select"],
        ..READ
    },
    Descriptor {
        workload: Workload::PgbenchTpcbLike,
        name: "pgbench_tpcb_like",
        asks: "transaction of 3 updates, a select and an insert, prepared statements",
        tables: Some(Tables::Pgbench),
        writes: true,
        ..READ
    },
    Descriptor {
        workload: Workload::Tpcc,
        name: "tpcc",
        asks: "TPC-C's five transactions",
        tables: Some(Tables::Tpcc),
        kinds: &["new_order", "payment", "order_status", "delivery", "stock_level"],
        counts: &[CELLS[0], CELLS[1], CELLS[2], NOT_DONE[0], NOT_DONE[1]],
        writes: true,
        ..READ
    },
    Descriptor {
        workload: Workload::YcsbA,
        name: "ycsb_a",
        asks: "half reads, half updates of records",
        mix: Mix::Core(YcsbMix {
            read: 0.5,
            update: 0.5,
            ..NO_SHARES
        }),
        ..YCSB
    },
    Descriptor {
        workload: Workload::YcsbB,
        name: "ycsb_b",
        asks: "reads of records, 5 % updates",
        mix: Mix::Core(YcsbMix {
            read: 0.95,
            update: 0.05,
            ..NO_SHARES
        }),
        ..YCSB
    },
    Descriptor {
        workload: Workload::YcsbC,
        name: "ycsb_c",
        asks: "reads of records",
        operation: Unit::Lookup,
        writes: false,
        mix: Mix::Core(YcsbMix {
            read: 1.0,
            ..NO_SHARES
        }),
        ..YCSB
    },
    Descriptor {
        workload: Workload::YcsbD,
        name: "ycsb_d",
        asks: "reads of the latest records, 5 % inserts",
        mix: Mix::Core(YcsbMix {
            read: 0.95,
            insert: 0.05,
            distribution: RequestDistribution::Latest,
            ..NO_SHARES
        }),
        ..YCSB
    },
    Descriptor {
        workload: Workload::YcsbE,
        name: "ycsb_e",
        asks: "scans of records, 5 % inserts",
        mix: Mix::Core(YcsbMix {
            scan: 0.95,
            insert: 0.05,
            ..NO_SHARES
        }),
        ..YCSB
    },
    Descriptor {
        workload: Workload::YcsbF,
        name: "ycsb_f",
        asks: "half reads, half reads with updates of records",
        mix: Mix::Core(YcsbMix {
            read: 0.5,
            read_modify_write: 0.5,
            ..NO_SHARES
        }),
        ..YCSB
    },
    Descriptor {
        workload: Workload::Ycsb,
        name: "ycsb",
        asks: "records, in a mix of your own",
        ..YCSB
    },
    Descriptor {
        workload: Workload::YcsbLoad,
        name: "ycsb_load",
        asks: "records inserted in batches",
        kinds: &["insert"],
        reads: false,
        mix: Mix::None,
        ..YCSB
    },
    Descriptor {
        workload: Workload::Command,
        name: "command",
        asks: "a program of your own",
        vocabulary: Vocabulary::Program,
        tables: Some(Tables::All),
        kinds: &[],
        writes: true,
        ..READ
    },
];

/// A read over SQL, of connections that stay open.
const READ: Descriptor = Descriptor {
    workload: Workload::OltpPointSelect,
    name: "",
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

const NO_SHARES: YcsbMix = YcsbMix {
    read: 0.0,
    update: 0.0,
    insert: 0.0,
    scan: 0.0,
    read_modify_write: 0.0,
    distribution: RequestDistribution::Zipfian,
};
