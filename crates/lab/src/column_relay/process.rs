//! The process of a relay that encrypts cells, and what its owner and it say to each other. They speak over a Unix
//! socket in the private folder (see [`ciphertax_supervise::Conversation`]), so the key is in no file, no argument
//! and no environment.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::{fmt, io};

use ciphertax_columns::{CellCipher, MasterKey};
use ciphertax_model::ColumnEncryption;
use ciphertax_supervise::child::raise_limit_of_files;
use ciphertax_supervise::{Conversation, LONGEST_SOCKET_NAME, MARKER, say};
use serde::{Deserialize, Serialize};

use super::event_loop::{Encryption, EventLoop};
use super::rows::Policy;
use crate::asked_process::{self, Fault};
use crate::port;

/// How often a port is chosen anew after somebody else took it.
const PORT_ATTEMPTS: u32 = 5;

/// What the process of a relay that encrypts cells does; the whole of the hidden command `column-relay`. Its guard starts it in a
/// private folder.
pub fn main() -> ExitCode {
    if !Path::new(MARKER).exists() {
        say("`column-relay` is started by ciphertax itself, to encrypt columns of results");
        return ExitCode::FAILURE;
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("the relay that encrypts columns ends: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let (stream, _) = UnixListener::bind(SOCKET)?.accept()?;
    let mut owner = Conversation::over(stream)?;
    let start = match owner.receive()? {
        None => return Ok(()),
        Some(Request::Start(start)) => start,
        Some(Request::Count) => return owner.send(&Answer::Refused("was not started".into())),
    };
    let listener = raise_limit_of_files().and_then(|()| listen(start.host));
    let listener = match listener {
        Ok(listener) => listener,
        Err(error) => {
            return owner.send(&Answer::Refused(format!(
                "cannot listen on {}: {error}",
                start.host
            )));
        }
    };
    run(listener, owner, start)
}

/// Serves connections; what cannot be encrypted is told before the first.
fn run(listener: TcpListener, mut owner: Conversation, start: Start) -> io::Result<()> {
    let Start { server, cells, .. } = start;
    let encryption = match cells.map(encryption).transpose() {
        Ok(encryption) => encryption,
        Err(problem) => return owner.send(&Answer::Refused(problem)),
    };
    owner.send(&Answer::Started(listener.local_addr()?))?;
    EventLoop::new(listener, owner, server, encryption)?.run()
}

/// What makes the ciphers of connections, each with a data key of its own.
fn encryption(
    cells: EncryptedCells,
) -> Result<Encryption<impl Fn() -> Result<CellCipher, ciphertax_columns::KeyError>>, String> {
    let EncryptedCells {
        encryption,
        columns,
        key,
    } = cells;
    let key = MasterKey::from_hex(&key).map_err(|error| error.to_string())?;
    let open = move || CellCipher::open(&encryption, &key);
    open().map_err(|error| error.to_string())?;
    Ok(Encryption {
        policy: Rc::new(Policy::new(&columns)),
        cells: open,
    })
}

/// Listens on a port outside the range from which the kernel gives clients theirs.
fn listen(host: Ipv4Addr) -> io::Result<TcpListener> {
    let ports = port::private_range();
    let mut outcome = Err(io::Error::other("every port tried is taken"));
    for _ in 0..PORT_ATTEMPTS {
        let Some(port) = port::free_in(&ports) else { break };
        outcome = TcpListener::bind((host, port));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// The socket in the private folder.
pub(super) const SOCKET: &str = "cells.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

/// What the owner asks. The first is [`Request::Start`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    Start(Start),
    Count,
}

/// What a relay is started with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Start {
    /// Where it is to listen.
    pub(super) host: Ipv4Addr,
    pub(super) server: SocketAddr,
    /// `None` to pass everything on.
    pub(super) cells: Option<EncryptedCells>,
}

/// Which cells are encrypted, and with what.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EncryptedCells {
    pub(super) encryption: ColumnEncryption,
    pub(super) columns: Vec<String>,
    /// The master key in hexadecimal digits.
    pub(super) key: String,
}

impl fmt::Debug for EncryptedCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncryptedCells({}; key …)", self.encryption)
    }
}

/// What the process answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It listens here.
    Started(SocketAddr),
    Counted(Counts),
    /// What went wrong.
    Refused(String),
}

impl asked_process::Answer for Answer {
    fn refusal(self) -> Result<Self, String> {
        match self {
            Self::Refused(problem) => Err(problem),
            answer => Ok(answer),
        }
    }
}

/// What a relay did since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Cells that it encrypted.
    pub cells: u64,
    /// Connections that clients made.
    pub connections: u64,
    /// Connections that it ended because of what a client or the server sent, or could not begin.
    pub broken: u64,
}

/// Why a relay that encrypts cells cannot be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum ColumnRelayError {
    /// It could not do what it was asked for.
    #[error("the relay that encrypts columns cannot be started: {problem}")]
    Refused {
        /// Its own words.
        problem: String,
    },
    /// Its process has ended or does not answer.
    #[error("the process {pid} of the relay that encrypts columns is gone ({problem}); it says: {log}")]
    Gone {
        /// Its number.
        pid: u32,
        /// How that showed.
        problem: String,
        /// Last lines of its log.
        log: String,
    },
    /// The guard's folder is not where the process listens.
    #[error("cannot speak with the relay that encrypts columns at {socket}: {cause}")]
    Unreachable {
        /// Where it should listen.
        socket: PathBuf,
        /// The system's word.
        cause: std::io::Error,
    },
}

impl From<Fault> for ColumnRelayError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused { problem } => Self::Refused { problem },
            Fault::Gone { pid, problem, log } => Self::Gone { pid, problem, log },
            Fault::Unreachable { socket, cause } => Self::Unreachable { socket, cause },
        }
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{CellEncoding, CellFormat, CellMode, ColumnFeature, ColumnSelection};

    use super::*;

    #[test]
    fn the_key_travels_and_is_not_shown() {
        let start = Request::Start(Start {
            host: Ipv4Addr::LOCALHOST,
            server: SocketAddr::from(([127, 0, 0, 1], 3306)),
            cells: Some(EncryptedCells {
                encryption: ColumnEncryption {
                    feature: ColumnFeature::InResults,
                    format: CellFormat::default(),
                    algorithm: ciphertax_model::CellAlgorithm::default(),
                    mode: CellMode::default(),
                    encoding: CellEncoding::default(),
                    columns: ColumnSelection::All,
                    decrypt: ciphertax_model::Decrypt::default(),
                },
                columns: vec!["customer.c_last".into()],
                key: "00112233445566778899aabbccddeeff".into(),
            }),
        });
        let line = serde_json::to_string(&start).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&line).unwrap(), start);
        assert!(!format!("{start:?}").contains("00112233"), "{start:?}");
    }
}
