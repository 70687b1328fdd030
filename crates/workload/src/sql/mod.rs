//! What is asked over SQL: sysbench's scenarios (release 1.0), pgbench's built-in scripts, results of a mebibyte, short
//! connections that write, and YCSB's table.

mod bulk_insert;
mod bulk_read;
mod columns;
pub(crate) mod distribution;
pub(crate) mod insert;
#[cfg(test)]
mod mock;
mod oltp;
mod pgbench;
mod point_select;
mod record_rows;
mod records;
pub(crate) mod rows;
pub(crate) mod session;
#[cfg(test)]
mod tests;
pub mod tpcc;

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{StatementKind, Study, Workload};

use crate::connect::{self, Nothing};
use crate::driver::{Access, Job};
use crate::ycsb::{self, FieldEncryption, YcsbLoad};

pub use bulk_insert::BulkInsert;
pub(crate) use bulk_insert::SBBULK_NAMES;
pub(crate) use bulk_read::INSERT_TABLE;
pub use bulk_read::{BulkRead, InsertAndCount, SelectRow};
pub use ciphertax_wire::sql::{BytesInLines, Dialect, Loading, Placeholders, Transactions};
pub use columns::Columns;
pub use distribution::Picker;
pub use insert::Insert;
pub use oltp::{Oltp, Scenario};
pub use pgbench::{SelectOnly, TpcbLike};
pub use point_select::{PointSelect, Random, SelectRandom};
pub use records::{SqlRecords, SqlTable};
pub use session::{Parameter, Query, ResultSummary, SqlSession, Statement, Tables, TextRow, Value};

/// What clients of SQL servers speak.
pub(crate) const VOCABULARIES: [Vocabulary; 4] = [
    Vocabulary::Connect,
    Vocabulary::Sql,
    Vocabulary::KeyValue,
    Vocabulary::Program,
];

/// Statements that each connection of a workload has prepared, at most. Over connections that pass nothing is prepared.
pub fn statements_of_connection(study: &Study, workload: Workload) -> u64 {
    let tables = u64::from(study.dataset.tables);
    let oltp = |scenario: Scenario| scenario.statements_of_connection(tables);
    match workload {
        Workload::OltpPointSelect => tables,
        Workload::OltpDelete => oltp(Scenario::Delete),
        Workload::OltpReadOnly => oltp(Scenario::ReadOnly),
        Workload::OltpReadWrite => oltp(Scenario::ReadWrite),
        Workload::OltpUpdateIndex => oltp(Scenario::UpdateIndex),
        Workload::OltpUpdateNonIndex => oltp(Scenario::UpdateNonIndex),
        Workload::OltpWriteOnly => oltp(Scenario::WriteOnly),
        Workload::SelectRandomPoints
        | Workload::SelectRandomRanges
        | Workload::BulkRead
        | Workload::PgbenchSelectOnly => 1,
        Workload::PgbenchTpcbLike => 7,
        Workload::Tpcc => match study.tpcc.statements {
            StatementKind::Prepared => tpcc::MOST_STATEMENTS,
            StatementKind::Text => 0,
        },
        Workload::YcsbC => 1,
        // Reads, scans, inserts, and an update for each field.
        Workload::YcsbA
        | Workload::YcsbB
        | Workload::YcsbD
        | Workload::YcsbE
        | Workload::YcsbF
        | Workload::Ycsb => 3 + u64::from(study.ycsb.field_count),
        Workload::OltpInsert
        | Workload::BulkInsert
        | Workload::YcsbLoad
        | Workload::Connect
        | Workload::ConnectOnly
        | Workload::ConnectInsertCount
        | Workload::Command => 0,
    }
}

/// Starts the load threads of a workload on a database that speaks SQL; `columns` is how a client's server encrypts the fields of
/// YCSB's table.
pub(crate) fn start<C: Access<Session: SqlSession>>(
    job: &Job<'_>,
    clients: &[C],
    columns: impl Fn(&C) -> Option<Columns>,
) -> Result<Option<Engine>, EngineError> {
    let tables = Tables::of(job.study);
    let (table, pgbench) = (job.study.ycsb, job.study.pgbench);
    let each = || clients.iter().cloned();
    let oltp = |scenario| {
        job.start(each().map(|access| Oltp {
            access,
            tables,
            scenario,
        }))
    };
    let select = |of| job.start(each().map(|access| SelectRandom { access, tables, of }));
    let stores = each().zip(&job.columns).map(|(access, cells)| SqlTable {
        columns: columns(&access),
        access,
        table,
        fields: FieldEncryption::of(cells),
    });
    match job.cell.workload {
        Workload::OltpPointSelect => job.start(each().map(|access| PointSelect { access, tables })),
        Workload::OltpInsert => job.start(each().map(|access| Insert { access, tables })),
        Workload::OltpDelete => oltp(Scenario::Delete),
        Workload::OltpReadOnly => oltp(Scenario::ReadOnly),
        Workload::OltpReadWrite => oltp(Scenario::ReadWrite),
        Workload::OltpUpdateIndex => oltp(Scenario::UpdateIndex),
        Workload::OltpUpdateNonIndex => oltp(Scenario::UpdateNonIndex),
        Workload::OltpWriteOnly => oltp(Scenario::WriteOnly),
        Workload::SelectRandomPoints => select(Random::Points),
        Workload::SelectRandomRanges => select(Random::Ranges),
        Workload::BulkInsert => job.start(each().map(BulkInsert::new)),
        Workload::BulkRead => job.start(each().map(|access| BulkRead { access })),
        Workload::PgbenchSelectOnly => job.start(each().map(|access| SelectOnly {
            access,
            tables: pgbench,
        })),
        Workload::PgbenchTpcbLike => job.start(each().map(|access| TpcbLike {
            access,
            tables: pgbench,
        })),
        Workload::Tpcc => tpcc::start(job, clients),
        Workload::Connect => connect::start(job, clients, SelectRow(Tables::of(job.study))),
        Workload::ConnectOnly => connect::start(job, clients, Nothing),
        Workload::ConnectInsertCount => connect::start(job, clients, InsertAndCount),
        Workload::YcsbLoad => job.start(stores.map(|store| YcsbLoad::new(store, &table))),
        Workload::YcsbA
        | Workload::YcsbB
        | Workload::YcsbC
        | Workload::YcsbD
        | Workload::YcsbE
        | Workload::YcsbF
        | Workload::Ycsb => ycsb::start(job, stores),
        Workload::Command => Ok(None),
    }
}
