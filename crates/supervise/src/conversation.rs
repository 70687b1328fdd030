//! Conversations of ciphertax with the processes that it starts: one line of JSON a message, over a Unix socket;
//! and words for the user.
//!
//! Neither side can make the other wait or remember without end: a message has a greatest length, and once begun it
//! must arrive in time.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ciphertax_base::harmless_lines;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// Longest message in bytes, with the end of its line.
const LONGEST: usize = 1 << 20;

/// How long a message may take from its first byte to its last, either way.
const TRANSFER: Duration = Duration::from_secs(5);

/// One end of a conversation.
#[derive(Debug)]
pub struct Conversation {
    stream: UnixStream,
    /// What has arrived of the next message.
    arrived: Vec<u8>,
}

impl Conversation {
    /// This side's end, and the standard input of the process that is to have the other.
    ///
    /// # Errors
    /// If the system has no sockets left.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::over(ours)?, theirs.into()))
    }

    /// A conversation over a connected socket.
    ///
    /// # Errors
    /// If the system refuses to bound how long sending may take.
    pub fn over(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(TRANSFER))?;
        Ok(Self {
            stream,
            arrived: Vec::new(),
        })
    }

    /// The conversation with whoever started this process, if that was a ciphertax.
    pub fn with_owner() -> Option<Self> {
        let stdin = io::stdin();
        rustix::net::sockopt::socket_type(&stdin).ok()?;
        let stream = stdin.as_fd().try_clone_to_owned().ok()?;
        Self::over(stream.into()).ok()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If it is too long, or the other side is gone or does not take it in five seconds.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        if line.len() > LONGEST {
            return Err(ErrorKind::InvalidInput.into());
        }
        self.stream.write_all(&line)
    }

    /// Waits for a message, for as long as the other side is silent; `None` when it is gone.
    ///
    /// # Errors
    /// If what arrives is too long, not whole within five seconds, or not such a message.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        if self.arrived.is_empty() {
            while !self.has_word_within(None)? {}
        }
        self.receive_within(TRANSFER)
    }

    /// Waits no longer than `patience` for a whole message; `None` when the other side is gone.
    ///
    /// # Errors
    /// If it has not arrived by then, is too long, or is not such a message.
    pub fn receive_within<T: DeserializeOwned>(&mut self, patience: Duration) -> io::Result<Option<T>> {
        let deadline = Instant::now() + patience;
        let mut searched = 0;
        loop {
            if let Some(end) = self.arrived[searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=searched + end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            searched = self.arrived.len();
            if searched >= LONGEST {
                return Err(io::Error::new(ErrorKind::InvalidData, "the message is too long"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.has_word_within(Some(left))? {
                if left.is_zero() {
                    return Err(ErrorKind::TimedOut.into());
                }
                continue;
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part) {
                Ok(0) if self.arrived.is_empty() => return Ok(None),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.arrived.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// True as soon as the other side has said something or is gone; false if neither was within `patience`.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn has_word(&self, patience: Duration) -> io::Result<bool> {
        Ok(!self.arrived.is_empty() || self.has_word_within(Some(patience))?)
    }

    /// [`Conversation::has_word`], but false as soon as there is something to read from `other`.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn has_word_unless(&self, other: impl AsFd, patience: Duration) -> io::Result<bool> {
        if !self.arrived.is_empty() {
            return Ok(true);
        }
        let mut either = [
            PollFd::new(&self.stream, PollFlags::IN),
            PollFd::new(&other, PollFlags::IN),
        ];
        wait(&mut either, Some(patience))?;
        Ok(!either[0].revents().is_empty())
    }

    /// Says no more; the other side learns that as if this one were gone, but may still be heard.
    pub fn say_no_more(&self) {
        // It may be gone already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    fn has_word_within(&self, patience: Option<Duration>) -> io::Result<bool> {
        wait(&mut [PollFd::new(&self.stream, PollFlags::IN)], patience)
    }
}

/// Whether there is something to read from one of them within `patience`; a signal ends it.
fn wait(any: &mut [PollFd<'_>], patience: Option<Duration>) -> io::Result<bool> {
    let patience = patience
        .map(Timespec::try_from)
        .transpose()
        .map_err(io::Error::other)?;
    match poll(any, patience.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl AsFd for Conversation {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// What `ciphertax-mpi` carries between the load generators of a run, one line of JSON each by [`Conversation`]: a
/// message, or that there will be none.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Whom it is to, and when it arrives, whom it is from.
    pub rank: u32,
    /// What it says, as it was written: whoever carries it does not read it.
    #[serde(default)]
    pub body: Box<RawValue>,
    /// Why no more will come from there; absent from every message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl Envelope {
    /// A message to a load generator.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn new(rank: u32, message: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self::written(rank, to_raw_value(message)?))
    }

    /// A message from a load generator, as it was carried.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn carried(rank: u32, message: &[u8]) -> serde_json::Result<Self> {
        Ok(Self::written(rank, serde_json::from_slice(message)?))
    }

    fn written(rank: u32, body: Box<RawValue>) -> Self {
        Self {
            rank,
            body,
            lost: None,
        }
    }

    /// That a load generator is gone.
    pub fn lost(rank: u32, why: impl Into<String>) -> Self {
        Self {
            rank,
            body: Box::default(),
            lost: Some(why.into()),
        }
    }
}

/// Writes a line to standard error, or several; what servers and files say in it cannot rule a terminal. Where nobody reads it any
/// more, or there is no room, it is lost: nothing may depend on it.
pub fn say(line: impl fmt::Display) {
    let text = harmless_lines(&line.to_string());
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn both() -> (Conversation, UnixStream) {
        let (ours, theirs) = Conversation::pair().unwrap();
        (ours, theirs.into())
    }

    #[test]
    fn messages_arrive_as_they_were_sent_and_in_order() {
        let (mut one, other) = both();
        let mut other = Conversation::over(other).unwrap();
        let messages = ["says \"no\"\n", "", "a\0b"].map(str::to_owned);
        for message in &messages {
            one.send(message).unwrap();
        }
        for message in messages {
            assert!(other.has_word(Duration::ZERO).unwrap());
            assert_eq!(other.receive::<String>().unwrap(), Some(message));
        }
        drop(one);
        assert_eq!(other.receive::<String>().unwrap(), None);
    }

    #[test]
    fn who_says_no_more_still_hears() {
        let (mut one, other) = both();
        let mut other = Conversation::over(other).unwrap();
        one.say_no_more();
        assert_eq!(other.receive::<u8>().unwrap(), None);
        other.send(&7).unwrap();
        assert_eq!(one.receive::<u8>().unwrap(), Some(7));
    }

    #[test]
    fn who_waits_for_a_word_is_woken_by_something_else() {
        let (one, mut other) = both();
        let (mut bell, bells) = UnixStream::pair().unwrap();
        let long = Duration::from_secs(60);
        bell.write_all(&[0]).unwrap();
        assert!(!one.has_word_unless(&bells, long).unwrap());
        other.write_all(b"7\n").unwrap();
        assert!(one.has_word_unless(&bells, long).unwrap());
    }

    #[test]
    fn silence_is_an_error_once_patience_is_over() {
        let (mut one, _other) = both();
        assert!(!one.has_word(Duration::ZERO).unwrap());
        let error = one.receive_within::<u8>(Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_message_that_never_ends_is_an_error_and_takes_bounded_memory() {
        let (mut one, mut other) = both();
        // It ends when nobody reads any more.
        let endless = thread::spawn(move || while other.write_all(&[b' '; 1 << 16]).is_ok() {});
        let error = one.receive_within::<u8>(Duration::from_secs(60)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(one.arrived.len() < LONGEST + 4096);
        drop(one);
        endless.join().unwrap();
    }

    #[test]
    fn a_message_broken_off_or_of_another_kind_is_an_error() {
        let (mut one, mut other) = both();
        other.write_all(b"{\"what\": 1}\n[").unwrap();
        let error = one.receive::<u8>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        drop(other);
        let error = one.receive::<u8>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_message_too_long_is_not_sent() {
        let (mut one, _other) = both();
        let error = one.send(&"x".repeat(LONGEST)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
