//! Nothing is left behind: whatever ciphertax starts, and every private folder, goes with its owner, however that ends.
//!
//! A [`Guard`](guard::Guard) is the parent of the programs that work in a [`PrivateFolder`]. A
//! [`Supervised`](supervisor::Supervised) program of the user's own is known by what it took and leaves nothing
//! running. What was left all the same is removed by the next [sweep](sweep_stale). Which programs these are, only the
//! caller knows.

#![warn(missing_docs)]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod child;
mod conversation;
mod error;
mod folder;
pub mod guard;
pub mod namespace;
pub mod privilege;
pub mod supervisor;
mod sweep;

pub use child::{ChildPipe, Process};
pub use conversation::{Conversation, Envelope, say};
pub use error::{Error, Result};
pub use folder::{LONGEST_SOCKET_NAME, MARKER, PrivateFolder, create_private_file, free_mb};
pub use guard::GuardProgram;
pub use privilege::PrivateFiles;
pub use sweep::{Known, sweep_stale};
