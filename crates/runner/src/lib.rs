//! Plays a study: server, data set, proofs, then block after block until the answer is precise or the time is up.
//!
//! Everything measured goes to the run folder at once; what it means is made from the folder afterwards.

mod clean;
mod columns;
mod command;
mod connections;
mod counters;
mod database;
mod databases;
mod distance;
mod entry;
mod error;
mod fit;
mod footprint;
mod groups;
mod load;
mod measure;
mod meter;
mod mongodb;
mod mysql;
mod patience;
mod placement;
mod plan;
mod play;
mod postgresql;
mod private_database;
mod progress;
mod refusals;
mod same_servers;
mod schedule;
mod server;
mod servers;
mod sqlite;
mod trust;
mod whereabouts;

#[cfg(test)]
ciphertax_testkit::plays_roles!();

pub use clean::{clean, made_on, remedy};
pub use error::RunError;
pub use plan::Plan;
pub use play::{Played, play};
pub use progress::{Headline, Progress, Stage};
