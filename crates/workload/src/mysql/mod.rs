//! What is MySQL's alone, and that of the servers compatible with it: sessions, their dialect, what they leave.

mod key_exchange;
mod leftovers;
mod session;

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Study};

use crate::driver::{Driver, Job};
use crate::sql::{self, SelectRow, Tables};

pub use key_exchange::{KeyExchange, exchange_keys};
pub use leftovers::{end_sessions, refuse_without_drop};
#[cfg(test)]
pub(crate) use session::DIALECT;
pub use session::MysqlAccess;

impl Driver for MysqlAccess {
    type Lookup = SelectRow;

    const NAME: &'static str = "MySQL";

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
