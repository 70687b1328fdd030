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
use std::path::Path;

use ciphertax_columns::MasterKey;
use ciphertax_model::ColumnEncryption;
use ciphertax_supervise::GuardProgram;

use crate::error::Result;
use crate::files::hexadecimal;
use crate::helper_process::{HelperProcess, Role};
use crate::link::{FarSide, RunningLink};
use crate::server::PrivateServer;
use process::{Answer, Counts, EncryptedCells, Request, SOCKET, Start};

pub use crate::error::path::ColumnRelayError;
pub use process::{Counts as ColumnRelayCounts, main};

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

const ROLE: Role = Role {
    name: "column-relay",
    socket: SOCKET,
    log: "column-relay.log",
};

/// A relay of our own. It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningColumnRelay {
    /// `None` if it passes everything on.
    encrypts: Option<Encrypts>,
    address: SocketAddr,
    facts: BTreeMap<String, String>,
    process: HelperProcess,
}

/// What a relay encrypts, for those who prove it.
#[derive(Debug)]
struct Encrypts {
    encryption: ColumnEncryption,
    columns: Vec<String>,
    key: MasterKey,
}

impl RunningColumnRelay {
    /// Starts one before any server that listens on this address of the loopback device, here or on a link's far side.
    fn start(
        plan: &ColumnRelayPlan<'_>,
        server: SocketAddr,
        far: Option<FarSide>,
        program: &GuardProgram,
    ) -> Result<Self> {
        let namespace = far.as_ref().map(|far| far.namespace.clone());
        let process = HelperProcess::start::<ColumnRelayError>(&ROLE, namespace, program)?;
        let start = Start {
            host: far.as_ref().map_or(Ipv4Addr::LOCALHOST, |far| far.delayed),
            server,
            cells: plan.cells.map(|cells| EncryptedCells {
                encryption: cells.encryption.clone(),
                columns: cells.columns.to_vec(),
                key: hexadecimal(cells.key.bytes()),
            }),
        };
        let mut relay = Self {
            encrypts: plan.cells.map(|cells| Encrypts {
                encryption: cells.encryption.clone(),
                columns: cells.columns.to_vec(),
                key: cells.key.clone(),
            }),
            address: server,
            facts: facts(plan),
            process,
        };
        relay.address = match relay.ask(&Request::Start(start))? {
            Answer::Started(address) => address,
            other => return Err(relay.nonsense(&other).into()),
        };
        Ok(relay)
    }

    /// Where clients connect to in place of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its only process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it did since it was started. Whoever has read an answer finds its cells counted.
    ///
    /// # Errors
    /// If its process is gone.
    pub fn counts(&self) -> Result<Counts> {
        match self.ask(&Request::Count)? {
            Answer::Counted(counts) => Ok(counts),
            other => Err(self.nonsense(&other).into()),
        }
    }

    /// What was started, for the record: `encrypts` and `columns`.
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    /// False once it has ended.
    pub fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }

    /// That it has ended, with its last words; `None` while it lives.
    pub fn death(&self) -> Option<String> {
        (!self.is_alive()).then(|| {
            format!(
                "the relay that encrypts columns (process {}) ended; the last lines of its log: {}",
                self.pid(),
                self.process.last_words()
            )
        })
    }

    /// The folder of its socket and its log.
    pub fn folder(&self) -> &Path {
        self.process.folder()
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.process.stop()
    }

    fn ask(&self, request: &Request) -> std::result::Result<Answer, ColumnRelayError> {
        Ok(self.process.ask(request)?)
    }

    fn nonsense(&self, answer: &Answer) -> ColumnRelayError {
        self.process.nonsense(answer).into()
    }
}

fn facts(plan: &ColumnRelayPlan<'_>) -> BTreeMap<String, String> {
    let (encrypts, columns) = match plan.cells {
        None => ("nothing: it passes everything on".to_owned(), String::new()),
        Some(cells) => (cells.encryption.to_string(), cells.columns.join(", ")),
    };
    [("encrypts", encrypts), ("columns", columns)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}
