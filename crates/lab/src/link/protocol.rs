//! What the owner of a link and its process say to each other, over a Unix socket in the private folder (see
//! [`ciphertax_supervise::Conversation`]).

use std::net::Ipv4Addr;
use std::path::PathBuf;

use ciphertax_model as model;
use ciphertax_supervise::LONGEST_SOCKET_NAME;
use serde::{Deserialize, Serialize};

use super::report::LinkReport;
use crate::asked_process;

/// The socket in the private folder.
pub(super) const SOCKET: &str = "link.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

/// What the owner asks. The first is [`Request::Start`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    Start(model::Distances),
    Set(model::Distances),
    Report,
}

/// What the process answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    Started(Endpoints),
    Set,
    Report(LinkReport),
    /// What went wrong, as the end of a sentence about the link.
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

/// Where a link is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Endpoints {
    pub(super) delayed: Ipv4Addr,
    pub(super) direct: Ipv4Addr,
    /// What nodes inside are to each other; `None` if they have no distance.
    pub(super) nodes: Option<Ipv4Addr>,
    pub(super) namespace: PathBuf,
}

#[cfg(test)]
mod tests {
    use ciphertax_supervise::Conversation;

    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let (mut owner, process) = Conversation::pair().unwrap();
        let mut process = Conversation::over(process.into()).unwrap();
        let link = model::Link {
            rtt_ms: 0.1 + 0.2,
            jitter_ms: 1e-9,
            bandwidth_mbit: None,
        };
        for request in [Request::Start(link.into()), Request::Report] {
            owner.send(&request).unwrap();
            assert_eq!(process.receive().unwrap(), Some(request));
        }
    }
}
