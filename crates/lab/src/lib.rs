//! Private servers, tunnels, links, certificates and relays.
//!
//! A [`PrivateServer`] is a MariaDB of our own: made in a folder of its own, reachable on the loopback address alone,
//! and gone without a trace when its owner is gone, however that ended (see [`guard`]). A [`Relay`] is put in front of
//! any server to see what really travels. A [`tunnel`] is put between client and server, and a [`RunningLink`] puts a
//! distance between them.

#![warn(missing_docs)]

mod bootstrap;
pub mod certificates;
mod error;
mod family;
mod folder;
pub mod guard;
pub mod link;
mod locate;
mod log;
mod mariadb;
mod port;
mod privilege;
mod process;
mod proof;
mod relay;
mod sweep;
pub mod tunnel;

pub use error::{Error, Result};
pub use guard::GuardProgram;
pub use link::{DelayRelay, LinkKind, LinkReport, RunningLink};
pub use locate::Installation;
pub use mariadb::{PrivateServer, PrivateServerBuilder};
pub use proof::{ProofError, Proved, prove};
pub use relay::Relay;
pub use sweep::sweep_stale;
