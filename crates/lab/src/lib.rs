//! Private servers, tunnels, links, certificates and relays.
//!
//! A [`PrivateServer`] is a MariaDB, MySQL, MongoDB or PostgreSQL of our own, or a file of SQLite's: made in a folder of
//! its own, reachable from this machine alone, and gone without a trace when its owner is gone, however that ended (see
//! [`ciphertax_supervise::guard`]). Which servers there are, and what each can do, says the [`catalogue`]; what is not
//! on the machine is fetched by [`install()`]. A [`Relay`] is put in front of any server to see what really travels. A
//! [`tunnel`] is put between client and server, a [`pooler`] before PostgreSQL or MySQL, a [`column_relay`] before MySQL's family, and a
//! [`RunningLink`] puts a distance between them.

#![warn(missing_docs)]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod accounts;
pub mod catalogue;
pub mod certificates;
pub mod cluster_proof;
pub mod column_relay;
pub mod disk_proof;
pub mod disk_search;
mod error;
pub mod file_system;
mod files;
mod helper_process;
mod install;
pub mod link;
mod locate;
pub mod mongodb;
pub mod mysql;
pub mod page_cache;
pub mod pooler;
mod port;
pub mod postgresql;
mod proof;
mod relay;
mod server;
pub mod sqlite;
mod template;
pub mod tunnel;

pub use accounts::Account;
pub use cluster_proof::check_capture;
pub use error::{Error, Result};
pub use install::install;
pub use link::{LinkReport, RunningLink};
pub use locate::{InstallStep, Installation};
pub use mysql::check_cluster;
pub use proof::{ProofError, Proved, ProvedAtRest, WrongLogins};
pub use relay::Relay;
pub use server::{PrivateServer, PrivateServerBuilder};
