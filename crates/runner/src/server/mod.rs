//! The server of a group of arms, or several that form one database: the same for every database.

mod at_rest;
mod group;
mod measured;
mod private;
mod processes;
mod proxies;
mod route;
mod target;

pub(crate) use at_rest::AtRestProofs;
pub(crate) use group::{GroupServer, ProvedArm};
pub(crate) use measured::{Identity, ProxyMeters, Server};
#[cfg(test)]
pub(crate) use private::tests::OPTIONS;
pub(crate) use proxies::encrypts_results;
pub(crate) use route::connect;
pub(crate) use target::{OTHERS, TargetServers};
