//! A relay between clients and a private server that encrypts cells of results, for servers that cannot do it themselves.
//!
//! Clients connect to it in place of the server. It passes the login on as it is, then follows MySQL's protocol: where a result has
//! columns that a policy names, their values become cells made with a key that it shares with the client, as
//! [`rows`] says. It stands for what PolarDB-X, PolarDB and RDS do in the server, so its CPU time counts as the server's. Arms
//! without encrypted columns go through one of their own, which passes everything on: what it costs that there is a relay is the same
//! for all.
//!
//! A column is named by the table and the name that it has there, whatever a statement calls them. What is computed (`SUM(ol_amount)`)
//! is of no table and stays readable, unlike with those servers.
//!
//! It belongs to a guard as private servers do.

mod answers;
mod commands;
mod connection;
mod event_loop;
mod packet;
pub(crate) mod process;
mod proof;
mod rows;
mod running;
#[cfg(test)]
mod tests;

use ciphertax_columns::MasterKey;
use ciphertax_model::ColumnEncryption;
use ciphertax_supervise::GuardProgram;

use crate::error::Result;
use crate::link::RunningLink;
use crate::server::PrivateServer;

pub use process::{ColumnRelayError, Counts as ColumnRelayCounts, main};
pub use running::RunningColumnRelay;

/// What a relay does.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRelayPlan<'a> {
    /// Which cells it encrypts; `None` to pass everything on.
    pub cells: Option<EncryptedColumns<'a>>,
    /// The link on whose far side the server is.
    pub link: Option<&'a RunningLink>,
}

/// Which cells a relay encrypts, and with what.
#[derive(Debug, Clone, Copy)]
pub struct EncryptedColumns<'a> {
    /// How.
    pub encryption: &'a ColumnEncryption,
    /// Which columns: `customer.c_last` is of that table and of those with the number of a set behind it (`customer_2`), `field0` of
    /// any table.
    pub columns: &'a [String],
    /// The key, which the client has too.
    pub key: &'a MasterKey,
}

/// Starts a relay before a server and waits until it listens: some tens of milliseconds. It must be stopped before the link is.
///
/// # Errors
/// If the cells cannot be made, or the relay does not start.
pub fn start(
    plan: &ColumnRelayPlan<'_>,
    server: &PrivateServer,
    guard: &GuardProgram,
) -> Result<RunningColumnRelay> {
    let address = match plan.link {
        None => server.only_address()?,
        // Beside the server, it is on the loopback address.
        Some(_) => (std::net::Ipv4Addr::LOCALHOST, server.only_address()?.port()).into(),
    };
    RunningColumnRelay::start(plan, address, plan.link.map(RunningLink::far_side), guard)
}
