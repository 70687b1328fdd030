//! The load threads, which are the database too.

use std::time::Duration;

use ciphertax_engine::{Engine, Failure};

use crate::error::RunError;
use crate::load::{Load, Slice};

/// Load threads that do the database's work. Nobody else could be the bottleneck, so that they are bound by themselves says
/// nothing.
pub(super) struct EmbeddedLoad(pub(super) Engine);

impl Load for EmbeddedLoad {
    fn workers(&self) -> u32 {
        Load::workers(&self.0)
    }

    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, RunError> {
        Load::prepare(&mut self.0, arm)
    }

    fn slice(&mut self, arm: usize, duration: Duration, seed: u64) -> Result<Slice, RunError> {
        let mut slice = Load::slice(&mut self.0, arm, duration, seed)?;
        slice.yielded.recorded.client_bound = false;
        Ok(slice)
    }
}
