//! What tests share, of whichever crate: a dev-dependency, and nothing else.
//!
//! Everything here panics where a test would: what goes wrong is a failure of the test that asked. Only the programs of
//! [`peers`] say what is wrong, since benchmarks start them too.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod event_loop;
mod files;
mod lease;
mod not_tested;
pub mod peers;
mod processes;
mod programs;
mod roles;
mod servers;
mod stolen;
mod tunnels;
mod user;
mod waiting;

pub use event_loop::{run, run_within};
pub use files::{contains, files_with, folders_in, temporary_folder};
pub use lease::{Lease, lease};
pub use not_tested::not_tested;
pub use processes::{
    Process, command_lines_with, has_shared_memory, is_running, parent_of, processes, processes_with,
};
pub use programs::{cache, copy_program, example, owner_command, unpacked_tunnels};
pub use roles::play_role;
pub use servers::{fetched, plain, plain_mongodb, plain_postgresql, postgresql_programs};
pub use stolen::stolen_ns;
pub use tunnels::EVERY_TUNNEL;
pub use user::{OrdinaryUser, is_root};
pub use waiting::{PATIENCE, uninterrupted, within};
