//! What makes the load of a cell: the load threads over whichever client its database has, or whatever else can be measured.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_engine::{Engine, Failure, SliceYield};
use ciphertax_model::{Cell, Workload};
use ciphertax_records::{CpuTime, VoidReason};
use ciphertax_workload::{Driver, Job};

use crate::error::RunError;

/// What makes the load of a cell: load threads, or a program of the user's own.
pub(crate) trait Load {
    /// Load threads of ciphertax.
    fn workers(&self) -> u32;

    /// Makes sure that an arm can be measured. The inner error is a reason for a void slice.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, RunError>;

    /// Load on one arm for `duration`, or for as long as a batch or a program takes. Whoever wants to stop cuts it short. The
    /// `seed` is that of the block, the same for every arm.
    ///
    /// # Errors
    /// What keeps the run from going on.
    fn slice(&mut self, arm: usize, duration: Duration, seed: u64) -> Result<Slice, RunError>;

    /// Holds a slice to its arm by what was seen of it elsewhere. Load threads see for themselves.
    fn judge(&self, _arm: usize, _slice: &mut Slice, _seen: &Seen<'_>) {}
}

/// What a slice yielded, and why it does not count if that is known already.
pub(crate) struct Slice {
    pub(crate) yielded: SliceYield,
    pub(crate) void: Option<VoidReason>,
}

/// What was seen of a slice besides its yield.
pub(crate) struct Seen<'a> {
    /// The server's own counters at its end.
    pub(crate) counters: &'a BTreeMap<String, i64>,
    /// What they rose by.
    pub(crate) change: &'a BTreeMap<String, i64>,
    /// CPU time of the arm's tunnel; `None` without one.
    pub(crate) tunnel_cpu: Option<CpuTime>,
}

impl Load for Engine {
    fn workers(&self) -> u32 {
        self.workers()
    }

    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, RunError> {
        Ok(self.prepare(arm)?)
    }

    fn slice(&mut self, arm: usize, duration: Duration, seed: u64) -> Result<Slice, RunError> {
        Ok(Slice {
            yielded: self.slice_of(seed, arm, duration)?,
            void: None,
        })
    }
}

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
