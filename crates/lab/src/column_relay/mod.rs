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
mod connection;
mod packet;
pub(crate) mod process;
mod proof;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use ciphertax_columns::MasterKey;
use ciphertax_model::ColumnEncryption;
use ciphertax_supervise::GuardProgram;

use crate::error::Result;
use crate::files::hexadecimal;
use crate::helper_process::{HelperProcess, Role};
use crate::link::RunningLink;
use crate::server::PrivateServer;
use process::{Answer, Counts, EncryptedCells, Request, Start};

pub use process::{Counts as ColumnRelayCounts, main};

/// Which cells a relay encrypts, and with what.
#[derive(Debug, Clone)]
pub struct EncryptedColumns {
    /// How.
    pub encryption: ColumnEncryption,
    /// Which columns: `customer.c_last` is of that table and of those with the number of a set behind it (`customer_2`), `field0` of
    /// any table.
    pub columns: Vec<String>,
    /// The key, which the client has too.
    pub key: MasterKey,
}

static ROLE: Role = Role {
    name: "column-relay",
    title: "the relay that encrypts columns",
    purpose: "to encrypt columns of results",
};

/// A relay of our own. It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningColumnRelay {
    /// `None` if it passes everything on.
    encrypts: Option<EncryptedColumns>,
    /// Where clients connect to in place of the server.
    pub address: SocketAddr,
    /// What was started, for the record: `encrypts` and `columns`.
    pub facts: BTreeMap<String, String>,
    /// Its process.
    pub process: HelperProcess,
}

/// Starts a relay before a server, on its side of a link, and waits until it listens: some tens of milliseconds. It must be stopped
/// before the link is. `encrypts` is `None` to pass everything on.
///
/// # Errors
/// If the cells cannot be made, or the relay does not start.
pub fn start(
    encrypts: Option<EncryptedColumns>,
    server: &PrivateServer,
    link: Option<&RunningLink>,
    program: &GuardProgram,
) -> Result<RunningColumnRelay> {
    let server = match link {
        None => server.only_address()?,
        // Beside the server, it is on the loopback address.
        Some(_) => (Ipv4Addr::LOCALHOST, server.only_address()?.port()).into(),
    };
    let far = link.map(|link| &link.endpoints);
    let process = HelperProcess::start(&ROLE, far.map(|far| far.namespace.clone()), program)?;
    let start = Start {
        host: far.map_or(Ipv4Addr::LOCALHOST, |far| far.delayed),
        server,
        cells: encrypts.as_ref().map(|cells| EncryptedCells {
            encryption: cells.encryption.clone(),
            columns: cells.columns.clone(),
            key: hexadecimal(cells.key.bytes()),
        }),
    };
    let address = match process.ask(&Request::Start(start))? {
        Answer::Started(address) => address,
        other => return Err(process.nonsense(&other)),
    };
    Ok(RunningColumnRelay {
        facts: facts(encrypts.as_ref()),
        encrypts,
        address,
        process,
    })
}

impl RunningColumnRelay {
    /// What it did since it was started. Whoever has read an answer finds its cells counted.
    ///
    /// # Errors
    /// If its process is gone.
    pub fn counts(&self) -> Result<Counts> {
        match self.process.ask(&Request::Count)? {
            Answer::Counted(counts) => Ok(counts),
            other => Err(self.process.nonsense(&other)),
        }
    }
}

fn facts(encrypts: Option<&EncryptedColumns>) -> BTreeMap<String, String> {
    let (encrypts, columns) = match encrypts {
        None => ("nothing: it passes everything on".to_owned(), String::new()),
        Some(cells) => (cells.encryption.to_string(), cells.columns.join(", ")),
    };
    [("encrypts", encrypts), ("columns", columns)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}
