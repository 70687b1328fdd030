//! The server of a group of arms, or several that form one database: the same for every database.

mod at_rest;
mod column_relay;
mod group;
mod measured;
mod pooler;
mod private;
mod processes;
mod reach;
mod record;
mod route;
mod target;

pub(crate) use at_rest::AtRestProofs;
pub(crate) use column_relay::encrypts_results;
pub(crate) use group::{GroupServer, ProvedArm};
#[cfg(test)]
pub(crate) use measured::FileSystemClock;
pub(crate) use measured::Server;
#[cfg(test)]
pub(crate) use private::tests::OPTIONS;
pub(crate) use record::Identity;
pub(crate) use target::TargetServers;
