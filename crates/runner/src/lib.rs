//! Plays a study: server, data set, proofs, then block after block until the answer is precise or the time is up.
//!
//! Everything measured goes to the run folder at once; what it means is made from the folder afterwards.

mod access;
mod cell;
mod clean;
mod connections;
mod counters;
mod distance;
mod entry;
mod error;
mod fit;
mod generator;
mod groups;
mod host;
mod load;
mod measure;
mod mongodb;
mod mysql;
mod patience;
mod placement;
mod play;
mod progress;
mod refusals;
mod rounds;
mod schedule;
mod site;
mod trust;
mod whereabouts;

pub use clean::{clean, made_on, remedy};
pub use error::RunError;
pub use play::{Plan, Played, play};
pub use progress::{Headline, Progress, Stage};
