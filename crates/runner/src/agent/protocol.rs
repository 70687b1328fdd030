//! What a run and an agent say to each other: one line of JSON each, in turn. The agent begins with [`Hello`].

use ciphertax_base::{Host, SeenByServer, harmless};
use ciphertax_model::Profiling;
use ciphertax_observe::Usage;
use ciphertax_records::SliceId;
use serde::{Deserialize, Serialize};

use super::names::{Known, Names};
use crate::meter::ServedBy;
use crate::schedule::Looked;

/// Of these messages. Both sides are of the same release, and this tells apart what is between two.
pub(super) const PROTOCOL: u32 = 5;

/// The release of this side.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Longest line in bytes, with its end.
pub(super) const LONGEST: usize = 1 << 20;

/// So many characters of a name or a version are kept.
pub(super) const LONGEST_NAME: usize = 40;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The protocol.
    pub(super) ciphertax_agent: u32,
    pub(super) version: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// To find the processes of the server that clients reach so.
    Find(Server),
    /// To wait until their clocks have stood still, and to read them then.
    Read {
        /// For so long; 0 not to wait.
        quiet_ns: u64,
        /// But no longer than this.
        at_most_ns: u64,
    },
    /// To get ready to look into the server in slices of up to this length.
    Look {
        profile: Profiling,
        /// How long they are at most.
        slice_ns: u64,
    },
    /// To begin to look.
    Begin,
    /// To end that.
    Stop,
    /// To tell what was seen since it began, in a slice that is called so.
    Seen(SliceId),
    /// To tell names and stacks beyond those that are known.
    Names(Known),
}

/// A server, as its clients reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) served_by: ServedBy,
    /// A session with it that is open.
    pub(super) seen: SeenByServer,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Found(Found),
    Read(Box<Reading>),
    /// The server's first process has ended.
    Ended(String),
    /// It is ready to look.
    Looks {
        /// Why it does not, or sees less than it is asked.
        refused: Option<String>,
    },
    /// It has begun to look.
    Begun,
    /// It has ended that.
    Stopped {
        /// For how long it looked.
        looked_ns: u64,
    },
    Seen(Box<Seen>),
    Names(Names),
    /// It cannot be done, and why.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The server's first process.
    pub(super) pid: u32,
    /// The name of its program, as the kernel has it.
    pub(super) program: String,
    pub(super) host: Host,
    /// What tells whether two processes run under the same kernel; empty if it does not say.
    pub(super) boot: String,
}

impl Found {
    /// What makes a later reading one of somebody else, after this was found anew; `None` if it is of the same server, which may
    /// have begun anew.
    pub(super) fn other_than(&self, now: &Self) -> Option<String> {
        let is_here = match self.boot.is_empty() || now.boot.is_empty() {
            true => self.host == now.host,
            false => self.boot == now.boot,
        };
        if !is_here {
            return Some("it is on another machine now, or its machine was booted anew".to_owned());
        }
        (self.program != now.program).then(|| {
            format!(
                "{} listens there now, and {} did before",
                now.program, self.program
            )
        })
    }
}

/// What another machine said, as it may be printed: so many characters of it.
pub(super) fn kept(said: &str, characters: usize) -> String {
    harmless(said).chars().take(characters).collect()
}

/// A reading, and when it was made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub(super) usage: Usage,
    /// Whether the clocks stood still.
    pub(super) is_quiet: bool,
    /// From the arrival of the request to the reading, in nanoseconds.
    pub(super) read_after_ns: u64,
    /// From there to the answer.
    pub(super) answered_after_ns: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(super) looked: Looked,
    /// How many names and stacks there are now.
    pub(super) names: Known,
}

/// What tells whether two processes run under the same kernel.
pub(crate) fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}
