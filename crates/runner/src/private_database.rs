//! A database on private servers, as studies are played on it.

use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, ServerSpec, Study};

use crate::error::RunError;
use crate::servers::{Opening, Servers};

/// Private servers, whatever their database.
pub(crate) trait PrivateDatabase {
    /// What workloads may be made of there.
    fn spoken(&self) -> &'static [Vocabulary];

    /// What it cannot do that a cell asks.
    fn refuse(&self, study: &Study, cell: &Cell) -> Vec<String>;

    /// Starts servers for the cells with this spec and proves the arms.
    ///
    /// # Errors
    /// Names the server or the arm that cannot be used, and the remedy.
    fn open(&self, opening: &mut Opening<'_>, spec: &ServerSpec) -> Result<Box<dyn Servers>, RunError>;
}
