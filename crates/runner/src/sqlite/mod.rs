//! SQLite, which runs in the load threads: no server, no route to it, and nobody else who pays.

mod counters;
mod file;
mod load;
mod refusals;
mod servers;

use ciphertax_lab::catalogue::Entry;
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, ServerSpec, Study};
use ciphertax_workload::Driver;
use ciphertax_workload::sqlite::SqliteAccess;

use crate::error::RunError;
use crate::private_database::PrivateDatabase;
use crate::servers::{Opening, Servers};

/// SQLite as the catalogue's entry has it.
pub(crate) struct Sqlite(pub(crate) &'static Entry);

impl PrivateDatabase for Sqlite {
    fn spoken(&self) -> &'static [Vocabulary] {
        SqliteAccess::VOCABULARIES
    }

    fn refuse(&self, study: &Study, cell: &Cell) -> Vec<String> {
        refusals::refuse(study, cell)
    }

    fn open(&self, opening: &mut Opening<'_>, spec: &ServerSpec) -> Result<Box<dyn Servers>, RunError> {
        Ok(Box::new(servers::SqliteServers::open(self.0, opening, spec)?))
    }
}
