//! What is MongoDB's alone: replica sets, YCSB's table in documents, and the data set that is this table.

mod access;
pub mod dataset;
mod lookup;
mod records;

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Study};

use crate::driver::{Driver, Job};
use crate::{connect, ycsb};

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
        match job.cell.workload.descriptor().vocabulary {
            Vocabulary::Connect => connect::start(job, &clients),
            Vocabulary::KeyValue => {
                let table = job.study.ycsb;
                let writes = job.cell.ycsb_mix().is_some_and(|mix| mix.writes());
                let store = |(access, columns)| MongodbTable {
                    access,
                    table,
                    writes,
                    fields: ycsb::FieldEncryption::of(columns),
                };
                ycsb::start(job, clients.into_iter().zip(&job.columns).map(store))
            }
            Vocabulary::Sql | Vocabulary::Program => Ok(None),
        }
    }
}
