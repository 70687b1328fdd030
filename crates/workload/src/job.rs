//! What the load threads of a cell are started with.

use std::sync::Arc;

use ciphertax_engine::{Engine, EngineError, Part, Workload};
use ciphertax_model::{Cell, Study};

use crate::arm_columns::ArmColumns;
use crate::ycsb::key_space::KeySpace;

/// A cell whose load threads are to be started.
pub struct Job<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its cell.
    pub cell: &'a Cell,
    /// What this process does of the load, which several may share.
    pub part: Part,
    /// Which records YCSB's table has, by arm.
    pub keys: Vec<Arc<KeySpace>>,
    /// Which tables each arm asks, and what its client encrypts in them.
    pub columns: Vec<ArmColumns>,
    /// The only CPU of the load threads; `None` to leave them to the kernel.
    pub cpu: Option<usize>,
    /// Of all that is picked at random.
    pub seed: u64,
}

impl Job<'_> {
    /// Starts the load threads for these arms.
    pub(crate) fn start<W: Workload>(
        &self,
        arms: impl IntoIterator<Item = W>,
    ) -> Result<Option<Engine>, EngineError> {
        let arms = arms.into_iter().collect();
        let mut engine = Engine::start_part(self.part, self.cpu, arms, &self.cell.load, self.seed)?;
        engine.keep_operations(self.cell.keep_operations);
        Ok(Some(engine))
    }
}
