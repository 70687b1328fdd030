//! The workloads: what each asks, needs and does, in one table. Everything else that depends on the workload of a cell
//! looks it up here; what runs them is the crate `workload`.

mod table;

pub use table::{CELLS, NOT_DONE, STALE_READS};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::YcsbMix;

/// What is asked of a database. The `oltp` and `select` scenarios and `bulk_insert` are those of sysbench 1.0, by its names;
/// those that begin with `pgbench` are scripts that are built into pgbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Workload {
    /// One row deleted by primary key, prepared.
    OltpDelete,
    /// One row inserted, its id chosen by the server, as text.
    OltpInsert,
    /// One row by primary key, prepared.
    OltpPointSelect,
    /// A transaction of ten point selects and four selects of 100 rows each: plain, summed, ordered, distinct.
    OltpReadOnly,
    /// A transaction of what `oltp_read_only` and `oltp_write_only` do.
    OltpReadWrite,
    /// The indexed column of one row updated, prepared.
    OltpUpdateIndex,
    /// A column without an index updated in one row, prepared.
    OltpUpdateNonIndex,
    /// A transaction of an indexed and an unindexed update, and of a row deleted and inserted again.
    OltpWriteOnly,
    /// Rows of ten values of the indexed column, prepared.
    SelectRandomPoints,
    /// Rows counted in ten ranges of the indexed column, prepared.
    SelectRandomRanges,
    /// Statements of half a mebibyte that insert some 40,000 small rows each, a table for each connection.
    BulkInsert,
    /// New connection, one query, close.
    Connect,
    /// New connection, one row inserted and counted, close.
    ConnectInsertCount,
    /// New connection, close.
    ConnectOnly,
    /// Results of one mebibyte: the record layer.
    BulkRead,
    /// pgbench's `select-only`: the balance of one account by primary key, prepared.
    PgbenchSelectOnly,
    /// pgbench's `tpcb-like`: a transaction that adds to the balances of an account, a teller and a branch, reads the
    /// account's and keeps a history, prepared.
    PgbenchTpcbLike,
    /// TPC-C: five transactions of a wholesaler's terminals, fixed to a warehouse each.
    Tpcc,
    /// YCSB's core workload A: half reads, half updates.
    YcsbA,
    /// YCSB's core workload B: reads, and 5 % updates.
    YcsbB,
    /// YCSB's core workload C: reads alone.
    YcsbC,
    /// YCSB's core workload D: reads of the records inserted last, and 5 % inserts.
    YcsbD,
    /// YCSB's core workload E: scans, and 5 % inserts.
    YcsbE,
    /// YCSB's core workload F: half reads, half records read and then updated.
    YcsbF,
    /// YCSB with the shares that the cell's `mix` says.
    Ycsb,
    /// YCSB's load phase: records inserted in batches into an empty table.
    YcsbLoad,
    /// Whatever a program of the user's own asks.
    Command,
}

/// What a workload is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Descriptor {
    /// What one operation asks, in words.
    pub asks: &'static str,
    /// What a database's client must speak for it.
    pub vocabulary: Vocabulary,
    /// The tables of the data set that it asks; `None` for none of them.
    pub tables: Option<Tables>,
    /// What an operation is to whoever pays for it.
    pub operation: Unit,
    /// The kinds of operations that are recorded, by their names in records. Those of a program only the program knows.
    pub kinds: &'static [&'static str],
    /// What its operations count besides, by the names that the counts have in records.
    pub counts: &'static [&'static str],
    /// True if an operation makes a connection of its own.
    pub makes_connections: bool,
    /// True if any operation reads. Of a mix that the cell says, the cell knows more.
    pub reads: bool,
    /// True if any operation writes; likewise.
    pub writes: bool,
    /// True if rows of the data set are gone for good afterwards.
    pub deletes_rows: bool,
    /// In which shares YCSB's kinds of operations occur.
    pub mix: Mix,
}

/// What a database's client must speak for a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// Connecting, and at most one lookup of a row or record in the client's own way: every client can.
    Connect,
    /// SQL: prepared and text statements, transactions.
    Sql,
    /// Single records by their keys.
    KeyValue,
    /// A program of the user's own speaks for itself.
    Program,
}

/// Tables of the data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tables {
    /// sysbench's `sbtest1`, `sbtest2`, …
    Sbtest,
    /// The table of large values.
    Bulk,
    /// YCSB's `usertable`.
    Usertable,
    /// pgbench's `pgbench_accounts`, `pgbench_branches`, `pgbench_tellers` and `pgbench_history`.
    Pgbench,
    /// TPC-C's nine tables.
    Tpcc,
    /// Those that a lookup of the client asks: `sbtest1` over SQL, else `usertable`.
    OfLookup,
    /// Whatever the database has first of all: `sbtest…` over SQL, else `usertable`. What a program asks, only the
    /// program knows.
    All,
}

/// What an operation is to whoever pays for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A query for one row or record by its key, over a connection that stays open.
    Lookup,
    /// A new connection with one such query in it.
    ConnectionWithLookup,
    /// A result of one mebibyte.
    BulkResult,
    /// Something else.
    Operation,
}

/// In which shares YCSB's kinds of operations occur.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mix {
    /// It is no mix.
    None,
    /// That of a core workload.
    Core(YcsbMix),
    /// The cell says it.
    OfCell,
}

impl Workload {
    /// The name used in study files and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What one operation asks, in words.
    pub fn asks(self) -> &'static str {
        self.descriptor().asks
    }

    /// True if an operation makes a connection of its own.
    pub fn makes_connections(self) -> bool {
        self.descriptor().makes_connections
    }

    /// True if an operation is a query for one row or record by its key, over a connection that stays open.
    pub fn is_key_lookup(self) -> bool {
        self.descriptor().operation == Unit::Lookup
    }

    /// True for a program of the user's own.
    pub fn is_program(self) -> bool {
        self.descriptor().vocabulary == Vocabulary::Program
    }

    /// True if it asks YCSB's table, whatever the database.
    pub fn asks_usertable(self) -> bool {
        self.descriptor().tables == Some(Tables::Usertable)
    }

    /// The shares of a core workload of YCSB; `None` for all others.
    pub fn ycsb_mix(self) -> Option<YcsbMix> {
        match self.descriptor().mix {
            Mix::Core(mix) => Some(mix),
            Mix::None | Mix::OfCell => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_the_name_that_study_files_have() {
        for workload in Workload::ALL {
            let found = serde_json::to_value(workload).unwrap();
            assert_eq!(found, serde_json::Value::from(workload.name()));
        }
    }

    #[test]
    fn what_a_mix_does_is_what_its_shares_say() {
        for workload in Workload::ALL {
            let Some(mix) = workload.ycsb_mix() else { continue };
            let descriptor = workload.descriptor();
            assert_eq!(descriptor.writes, mix.writes(), "{}", workload.name());
            assert_eq!(workload.is_key_lookup(), mix.read == 1.0, "{}", workload.name());
        }
    }
}
