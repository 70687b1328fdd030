//! The load threads of a cell, over whichever client its database has.

use ciphertax_engine::Engine;
use ciphertax_model::{Cell, Workload};
use ciphertax_workload::{Driver, Job};

use crate::error::RunError;

/// Starts the load threads of a cell for arms that are reached by these clients.
///
/// # Errors
/// If they cannot be started, or the workload is in a vocabulary that the client does not speak.
pub(crate) fn start<D: Driver>(job: &Job<'_>, clients: impl Iterator<Item = D>) -> Result<Engine, RunError> {
    let clients = clients.map(|client| client.of_cell(job.study, job.cell));
    let engine = D::start(job, clients.collect())?;
    engine.ok_or_else(|| RunError::Impossible(vec![not_spoken::<D>(job.cell)]))
}

/// What to say of a cell whose workload is in a vocabulary that this client does not speak; `None` if it speaks it.
pub(crate) fn no_such_workload<D: Driver>(cell: &Cell) -> Option<String> {
    let is_spoken = D::VOCABULARIES.contains(&cell.workload.descriptor().vocabulary);
    let is_program = cell.workload == Workload::Command;
    (!is_spoken && !is_program).then(|| not_spoken::<D>(cell))
}

fn not_spoken<D: Driver>(cell: &Cell) -> String {
    let is_spoken = |workload: &Workload| D::VOCABULARIES.contains(&workload.descriptor().vocabulary);
    let available: Vec<&str> = Workload::ALL
        .into_iter()
        .filter(is_spoken)
        .map(Workload::name)
        .collect();
    format!(
        "cell {}: {} is not available on {}; take one of {}",
        cell.name,
        cell.workload.name(),
        D::NAME,
        available.join(", ")
    )
}
