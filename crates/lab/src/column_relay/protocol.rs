//! What the owner of a relay and its process say to each other, over a Unix socket in the private folder (see
//! [`ciphertax_supervise::Conversation`]). So the key is in no file, no argument and no environment.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use ciphertax_model::ColumnEncryption;
use ciphertax_supervise::LONGEST_SOCKET_NAME;
use serde::{Deserialize, Serialize};

use crate::asked_process;

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
    pub cells_encrypted: u64,
    /// Connections that clients made.
    pub connections: u64,
    /// Connections that it ended because of what a client or the server sent, or could not begin.
    pub broken: u64,
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
