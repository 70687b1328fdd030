//! What is PostgreSQL's alone, and that of the servers compatible with it: sessions, their dialect, what they leave.

mod access;
mod dialect;
mod leftovers;
mod session;

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Study};

use crate::driver::Driver;
use crate::job::Job;
use crate::sql::{self, SelectRow, SqlTable, Tables};
use crate::{connect, ycsb};

pub use access::PostgresqlAccess;
#[cfg(test)]
pub(crate) use dialect::DIALECT;
pub use leftovers::end_sessions;

/// YCSB's table on PostgreSQL.
pub type PostgresqlTable = SqlTable<PostgresqlAccess>;

impl Driver for PostgresqlAccess {
    type Lookup = SelectRow;

    const NAME: &'static str = "PostgreSQL";

    const VOCABULARIES: &'static [Vocabulary] = &[
        Vocabulary::Connect,
        Vocabulary::Sql,
        Vocabulary::KeyValue,
        Vocabulary::Program,
    ];

    fn lookup(study: &Study) -> SelectRow {
        SelectRow(Tables::of(study))
    }

    fn of_cell(self, _study: &Study, cell: &Cell) -> Self {
        Self {
            connections: cell.load.connections as usize,
            ..self
        }
    }

    fn start(job: &Job<'_>, clients: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        match job.cell.workload.descriptor().vocabulary {
            Vocabulary::Connect => connect::start(job, &clients),
            Vocabulary::Sql => sql::start(job, &clients),
            Vocabulary::KeyValue => {
                let table = job.study.ycsb;
                ycsb::start(
                    job,
                    clients
                        .into_iter()
                        .zip(&job.columns)
                        .map(|(access, columns)| PostgresqlTable {
                            columns: access.columns,
                            access,
                            table,
                            fields: ycsb::FieldEncryption::of(columns),
                        }),
                )
            }
            Vocabulary::Program => Ok(None),
        }
    }
}
