//! Plays a study: server, data set, proofs, then block after block until the answer is precise or the time is up.
//!
//! Everything measured goes to the run folder at once; what it means is made from the folder afterwards.

pub mod agent;
mod check;
mod clean;
mod columns;
mod command;
mod confirm;
mod connect;
mod connections;
mod counters;
mod database;
mod databases;
mod doctor;
mod error;
mod footprint;
mod groups;
mod load;
mod look;
mod measure;
mod meter;
mod mongodb;
mod mysql;
mod play;
mod postgresql;
mod preview;
mod progress;
mod ranks;
mod remote_cpu;
mod schedule;
mod server;
mod server_process;
mod servers;
mod servers_to_play;
mod sqlite;
mod stored_cells;
mod timeout;
mod tpcc;
mod trust;
mod unsupported_arms;
mod wait_events;

#[cfg(test)]
ciphertax_testkit::plays_roles!();

pub use clean::{clean, remedy};
pub use confirm::{TIME_OF_CELL_S, confirming};
pub use connect::{ConnectPlan, connect};
pub use databases::made_on;
pub use doctor::doctor;
pub use error::RunError;
pub use meter::ServedBy;
pub use play::{Measured, play};
pub use preview::{Preview, preview};
pub use progress::{Headline, Progress, Stage};
pub use ranks::{Channel, Ranks, Role, follow, role};
pub use servers_to_play::{EncdbAccount, Plan};
