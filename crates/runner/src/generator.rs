//! What makes the load of a cell: ciphertax itself, or a program of the user's own.

use std::time::Duration;

use ciphertax_engine::{Engine, Failure, SliceYield};
use ciphertax_reactor::stop;
use ciphertax_records::VoidReason;

use crate::command::CommandLoad;
use crate::error::RunError;

/// What makes the load of a cell.
pub(crate) enum Generator {
    /// Load threads.
    Engine(Engine),
    /// A program of the user's own.
    Command(CommandLoad),
}

/// What a slice yielded, and why it does not count if that is known already.
pub(crate) struct Slice {
    pub(crate) yielded: SliceYield,
    pub(crate) void: Option<VoidReason>,
}

impl Generator {
    /// Makes sure that an arm can be measured. The inner error is a reason for a void slice.
    pub(crate) fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, RunError> {
        match self {
            Self::Engine(engine) => Ok(engine.prepare(arm)?),
            Self::Command(_) => Ok(Ok(())),
        }
    }

    /// Load on one arm for `duration`, or for as long as a batch or a program takes. Whoever wants to stop cuts it short.
    pub(crate) fn slice(&mut self, arm: usize, duration: Duration) -> Result<Slice, RunError> {
        match self {
            Self::Engine(engine) => Ok(Slice {
                yielded: engine.slice(arm, duration)?,
                void: None,
            }),
            Self::Command(command) => command.slice(arm, &stop::is_requested),
        }
    }

    /// Load threads of ciphertax.
    pub(crate) fn workers(&self) -> u32 {
        match self {
            Self::Engine(engine) => engine.workers(),
            Self::Command(_) => 0,
        }
    }
}
