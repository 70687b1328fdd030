//! What is MongoDB's alone: replica sets, YCSB's table in documents, and the data set that is this table.

mod access;
pub mod dataset;
mod lookup;
mod records;

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Study, Workload};

use crate::connect::{self, Nothing};
use crate::driver::{Driver, Job};
use crate::ycsb::{self, FieldEncryption, YcsbLoad};

pub use access::MongodbAccess;
pub use lookup::FindRecord;
pub use records::{DATABASE, MongodbConnection, MongodbLoader, MongodbReader, MongodbTable};

impl Driver for MongodbAccess {
    type Lookup = FindRecord;

    const NAME: &'static str = "MongoDB";

    const VOCABULARIES: &'static [Vocabulary] =
        &[Vocabulary::Connect, Vocabulary::KeyValue, Vocabulary::Program];

    fn lookup(study: &Study) -> FindRecord {
        FindRecord(study.ycsb)
    }

    fn of_cell(self, study: &Study, cell: &Cell) -> Self {
        Self {
            connections: cell.load.connections as usize,
            read_preference: study.read_preference(cell),
            ..self
        }
    }

    fn start(job: &Job<'_>, clients: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        let table = job.study.ycsb;
        let writes = job.cell.ycsb_mix().is_some_and(|mix| mix.writes());
        let stores = clients.iter().zip(&job.columns);
        let stores = stores.map(|(access, columns)| MongodbTable {
            access: access.clone(),
            table,
            writes,
            fields: FieldEncryption::of(columns),
        });
        match job.cell.workload {
            Workload::Connect => connect::start(job, &clients, Self::lookup(job.study)),
            Workload::ConnectOnly => connect::start(job, &clients, Nothing),
            Workload::YcsbLoad => job.start(stores.map(|store| YcsbLoad::new(store, &table))),
            Workload::YcsbA
            | Workload::YcsbB
            | Workload::YcsbC
            | Workload::YcsbD
            | Workload::YcsbE
            | Workload::YcsbF
            | Workload::Ycsb => ycsb::start(job, stores),
            // They are asked in SQL, or by a program of the user.
            Workload::OltpDelete
            | Workload::OltpInsert
            | Workload::OltpPointSelect
            | Workload::OltpReadOnly
            | Workload::OltpReadWrite
            | Workload::OltpUpdateIndex
            | Workload::OltpUpdateNonIndex
            | Workload::OltpWriteOnly
            | Workload::SelectRandomPoints
            | Workload::SelectRandomRanges
            | Workload::BulkInsert
            | Workload::BulkRead
            | Workload::ConnectInsertCount
            | Workload::PgbenchSelectOnly
            | Workload::PgbenchTpcbLike
            | Workload::Tpcc
            | Workload::Command => Ok(None),
        }
    }
}
