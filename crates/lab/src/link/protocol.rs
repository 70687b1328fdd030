//! What the owner of a link and its process say to each other: one line of JSON each, over a Unix socket in the private
//! folder.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use ciphertax_model as model;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::report::LinkReport;

/// The socket in the private folder; the name is no longer than that of a server's.
pub(super) const SOCKET: &str = "link.sock";

/// What the owner asks. The first is [`Request::Start`] or [`Request::StartRelay`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    Start(model::Link),
    StartRelay(model::Link, SocketAddr),
    Set(model::Link),
    Report,
}

/// What the process answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    Started(Place),
    RelayStarted(SocketAddr),
    Set,
    Report(LinkReport),
    /// What went wrong, as the end of a sentence about the link.
    Refused(String),
}

/// Where a link is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The client's end of the delayed way.
    pub(super) near: Ipv4Addr,
    pub(super) delayed: Ipv4Addr,
    pub(super) direct: Ipv4Addr,
    pub(super) namespace: PathBuf,
}

/// One end of the conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    stream: BufReader<UnixStream>,
}

impl Conversation {
    pub(super) fn over(stream: UnixStream) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    pub(super) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)
    }

    /// `None` when the other side is gone.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_str(&line)?)),
        }
    }
}

impl AsFd for Conversation {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut owner, mut process) = (Conversation::over(one), Conversation::over(other));
        let link = model::Link {
            rtt_ms: 0.1 + 0.2,
            jitter_ms: 1e-9,
            bandwidth_mbit: None,
        };
        for request in [
            Request::StartRelay(link, SocketAddr::from(([127, 0, 0, 1], 3306))),
            Request::Report,
        ] {
            owner.send(&request).unwrap();
            assert_eq!(process.receive().unwrap(), Some(request));
        }
        process.send(&Answer::Refused("says \"no\"\n".into())).unwrap();
        assert_eq!(
            owner.receive().unwrap(),
            Some(Answer::Refused("says \"no\"\n".into()))
        );
        drop(owner);
        assert_eq!(process.receive::<Request>().unwrap(), None);
    }
}
