//! Load in slices.
//!
//! An [`Engine`] keeps one thread a core and, on each, the connections of every arm. [`Engine::slice`] lets one arm's
//! connections work for a while, for a number of operations or on a schedule, lets operations in flight finish, and
//! returns what happened: exact CPU time of the load threads, latencies, bytes, errors. What an operation is, and
//! against which database, is a [`Workload`]'s business.

mod connections;
mod course;
mod engine;
mod recorder;
mod slice_yield;
mod worker;
mod workload;

pub use engine::{Engine, EngineError, THREAD_NAME};
pub use recorder::{LATE, Recorder};
pub use slice_yield::SliceYield;
pub use workload::{Context, Deal, Failure, MOST_COUNTS, Operation, Part, Result, Slot, Workload};
