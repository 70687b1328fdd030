//! Why a run ends without an answer.

use std::io;

use ciphertax_columns::{KeyError, MasterKey};
use ciphertax_engine::EngineError;
use ciphertax_estimate::EstimateError;
use ciphertax_lab::ProofError;
use ciphertax_model::{Refusal, by_reason};
use ciphertax_records::RecordError;
use ciphertax_wire::WireError;
use ciphertax_workload::dataset::DatasetError;

/// Result of what a run consists of.
pub(crate) type Result<T, E = RunError> = std::result::Result<T, E>;

/// Why a run ends without an answer; one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The private server.
    #[error(transparent)]
    Lab(#[from] ciphertax_lab::Error),
    /// What ciphertax starts could not be supervised.
    #[error(transparent)]
    Supervise(#[from] ciphertax_supervise::Error),
    /// The server cannot be used.
    #[error("{server} cannot be used: {problem}")]
    Server {
        /// Which server, without credentials.
        server: String,
        /// Why, with the remedy where there is one.
        problem: String,
    },
    /// A study that names a server which the catalogue does not have.
    #[error("there is no server {name:?} in the catalogue; {instead}")]
    UnknownServer {
        /// What the study says.
        name: String,
        /// The names there are, or what to use in the place of a server that was removed.
        instead: String,
    },
    /// Settings that a server cannot do; nothing was started.
    #[error("{}", by_reason(.0).join("\n"))]
    Impossible(Vec<Refusal>),
    /// The data set.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Tables that do not hold what was asked of them, so that no figure of the run means anything.
    #[error("nothing that was measured can be trusted: {0}")]
    Inconsistent(String),
    /// The key of encrypted cells.
    #[error("{}: {}", MasterKey::VARIABLE, .0)]
    ColumnKey(KeyError),
    /// An arm is not what it says, or is not available.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// TLS cannot be prepared.
    #[error(transparent)]
    Tls(#[from] WireError),
    /// A program of the user's own does not do what its arm says, or nothing at all; nothing was measured.
    #[error("cell {cell}, arm {arm}: {problem}")]
    Command {
        /// The cell.
        cell: String,
        /// The arm it was tried on.
        arm: String,
        /// What is wrong, with the remedy where there is one.
        problem: String,
    },
    /// Another load generator, or what carries messages between them.
    #[error("{0}")]
    Rank(String),
    /// The load engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Samples that cannot be evaluated.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
    /// More files than this process may have open.
    #[error("the limit of open files cannot be raised: {0}")]
    Files(std::io::Error),
    /// What the kernel keeps of CPU time cannot be read.
    #[error("CPU time cannot be read: {0}")]
    Observe(#[from] ciphertax_observe::Error),
    /// The server cannot be kept on one CPU.
    #[error("the private server cannot be kept on one CPU: {0}")]
    Placement(io::Error),
    /// What was made on a server, or a private server, is not gone.
    #[error("cleaning up failed: {problem}{}", with_command(.remedy.as_deref()))]
    NotCleanedUp {
        /// What is left, and why.
        problem: String,
        /// The command that removes it; `None` where the problem says what to do.
        remedy: Option<String>,
    },
    /// Cleaning up failed too, after something else had.
    #[error("{0}; {1}")]
    AndNotCleanedUp(Box<RunError>, Box<RunError>),
    /// The run folder.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The user stopped it before anything was measured.
    #[error("stopped before anything was measured")]
    Stopped,
}

fn with_command(remedy: Option<&str>) -> String {
    remedy.map_or(String::new(), |command| format!("; to remove it: {command}"))
}
