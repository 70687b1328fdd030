//! What is SQLite's alone: sessions that run in the load threads, and their dialect.

mod access;
mod dialect;
mod session;

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Load, Study};

use crate::driver::{Driver, Job};
use crate::sql::{self, SelectRow, Tables};

pub use access::SqliteAccess;

impl Driver for SqliteAccess {
    type Lookup = SelectRow;

    const NAME: &'static str = "SQLite";

    const VOCABULARIES: &'static [Vocabulary] = &[Vocabulary::Connect, Vocabulary::Sql, Vocabulary::KeyValue];

    fn lookup(study: &Study) -> SelectRow {
        SelectRow(Tables::of(study))
    }

    fn of_cell(self, _study: &Study, _cell: &Cell) -> Self {
        self
    }

    /// A session works where it is asked, and leaves its thread to no other until it is done: so each has its own.
    fn start(job: &Job<'_>, clients: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        let load = Load {
            workers: Some(job.cell.load.connections),
            ..job.cell.load
        };
        let cell = Cell {
            load,
            ..job.cell.clone()
        };
        let job = &Job {
            study: job.study,
            cell: &cell,
            part: ciphertax_engine::Part::WHOLE,
            keys: job.keys.clone(),
            columns: job.columns.clone(),
            cpu: job.cpu,
            seed: job.seed,
        };
        sql::start(job, &clients, |_| None)
    }
}
