//! Plays a study: server, data set, proofs, then block after block until the answer is precise or the time is up.
//!
//! Everything measured goes to the run folder at once ([`RunFolder`]); what it means is made from the folder afterwards.

mod cell;
mod cold;
mod command;
mod control;
mod distance;
mod error;
mod folder;
mod generator;
mod load;
mod measure;
mod play;
mod product;
mod progress;
mod refusals;
mod rounds;
mod schedule;
mod server;
mod site;

pub use error::RunError;
pub use folder::RunFolder;
pub use play::{Plan, play};
pub use progress::{Headline, Progress, Stage};
