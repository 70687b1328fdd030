//! What tests share, of whichever crate: a dev-dependency, and nothing else.
//!
//! Everything here panics where a test would: what goes wrong is a failure of the test that asked. Only the programs of
//! [`peers`] say what is wrong, since benchmarks start them too.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod files;
mod lease;
pub mod peers;
mod processes;
mod servers;
mod user;
mod waiting;

pub use files::{contains, files_with, folders_in, temporary_folder};
pub use lease::{Lease, lease};
pub use processes::{
    Process, command_lines_with, has_shared_memory, is_running, parent_of, play_role, processes,
    processes_with, stolen_ns,
};
pub use servers::{
    EVERY_TUNNEL, cache, copy_program, example, fetched, owner_command, plain, plain_mongodb,
    plain_postgresql, postgresql_programs, unpacked_tunnels,
};
pub use user::{OrdinaryUser, is_root};
pub use waiting::{PATIENCE, not_tested, rows, run, run_within, says, uninterrupted, within};
