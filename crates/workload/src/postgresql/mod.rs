//! What is PostgreSQL's alone, and that of the servers compatible with it: sessions, their dialect, what they leave.

mod session;

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Study};

use crate::driver::{Driver, Job};
use crate::sql::{self, SelectRow, Tables};

#[cfg(test)]
pub(crate) use session::DIALECT;
pub use session::{PostgresqlAccess, end_sessions};

impl Driver for PostgresqlAccess {
    type Lookup = SelectRow;

    const NAME: &'static str = "PostgreSQL";

    const VOCABULARIES: &'static [Vocabulary] = &sql::VOCABULARIES;

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
        sql::start(job, &clients, |access| access.columns)
    }
}
