//! The owner's side of a relay that encrypts cells.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use ciphertax_columns::MasterKey;
use ciphertax_model::ColumnEncryption;
use ciphertax_supervise::guard::GuardProgram;

use super::ColumnRelayPlan;
use super::process::{Answer, ColumnRelayError, Counts, EncryptedCells, Request, SOCKET, Start};
use crate::asked_process::{AskedProcess, Role};
use crate::error::Result;
use crate::files::hexadecimal;
use crate::link::FarSide;

const ROLE: Role = Role {
    name: "column-relay",
    socket: SOCKET,
    log: "column-relay.log",
};

/// A relay of our own. It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningColumnRelay {
    /// `None` if it passes everything on.
    pub(super) encrypts: Option<Encrypts>,
    address: SocketAddr,
    facts: BTreeMap<String, String>,
    process: AskedProcess,
}

/// What a relay encrypts, for those who prove it.
#[derive(Debug)]
pub(super) struct Encrypts {
    pub(super) encryption: ColumnEncryption,
    pub(super) columns: Vec<String>,
    pub(super) key: MasterKey,
}

impl RunningColumnRelay {
    /// Starts one before any server that listens on this address of the loopback device, here or on a link's far side.
    pub(super) fn start(
        plan: &ColumnRelayPlan<'_>,
        server: SocketAddr,
        far: Option<FarSide>,
        program: &GuardProgram,
    ) -> Result<Self> {
        let namespace = far.as_ref().map(|far| far.namespace.clone());
        let process = AskedProcess::start::<ColumnRelayError>(&ROLE, namespace, program)?;
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
