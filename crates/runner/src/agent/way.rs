//! The way to an agent.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::time::Duration;

use ciphertax_model::{AgentAddress, SshAddress};

use super::link::Link;
use super::protocol::{Answer, Request};
use crate::ranks::Ranks;

/// Where an agent is, and who leads there.
#[derive(Debug, Clone)]
pub enum Reach {
    /// It is started there by this program.
    Ssh {
        /// `ssh`, or its path.
        program: OsString,
        /// Where it is.
        address: SshAddress,
    },
    /// It is the load generator that makes no load, on this host.
    Rank {
        /// All load generators.
        ranks: Ranks,
        /// As the host calls itself.
        host: String,
    },
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh { address, .. } => address.fmt(f),
            Self::Rank { host, .. } => AgentAddress::Rank(host.clone()).fmt(f),
        }
    }
}

/// The way to a running agent.
#[derive(Debug)]
pub(super) enum Way {
    Ssh(Link),
    Rank(Ranks),
}

impl Way {
    /// # Errors
    /// Why there is no agent, and the remedy.
    pub(super) fn start(reach: &Reach) -> Result<Self, String> {
        match reach {
            Reach::Ssh { program, address } => Link::start(program, address).map(Self::Ssh),
            Reach::Rank { ranks, .. } => Ok(Self::Rank(ranks.clone())),
        }
    }

    /// Asks, and waits so long for the answer.
    ///
    /// # Errors
    /// If there is none, or it is none.
    pub(super) fn ask(&mut self, request: &Request, patience: Duration) -> io::Result<Answer> {
        match self {
            Self::Ssh(link) => link.ask(request, patience),
            Self::Rank(ranks) => ranks.ask_agent(request, patience),
        }
    }

    /// Ends it, and tells what it complained about.
    pub(super) fn end(self) -> String {
        match self {
            Self::Ssh(link) => link.end(),
            Self::Rank(_) => String::new(),
        }
    }
}
