//! The way to the other load generators: what `ciphertax-mpi` carries.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ciphertax_supervise::{Conversation, Envelope};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The way of one load generator to the others.
#[derive(Debug)]
pub struct Channel {
    conversation: Conversation,
    writer: Writer,
    /// How many there are, with this one.
    pub(super) of: u32,
}

/// What arrives.
pub(super) enum Arrival<T> {
    Message {
        from: u32,
        message: T,
    },
    /// That one is gone, and why.
    Lost {
        rank: u32,
        why: String,
    },
}

/// The way out, of which a message is whole whoever sends it.
#[derive(Debug, Clone)]
pub(super) struct Writer(Arc<Mutex<Conversation>>);

impl Writer {
    /// # Errors
    /// If it is too long, or what carries it is gone.
    pub(super) fn send(&self, to: u32, message: &impl Serialize) -> io::Result<()> {
        let envelope = Envelope::new(to, message)?;
        let mut conversation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        conversation.send(&envelope)
    }
}

impl Channel {
    /// Over both ends of the same conversation, of which one is for reading.
    pub(super) fn new(conversation: Conversation, writer: Conversation, of: u32) -> Self {
        Self {
            conversation,
            writer: Writer(Arc::new(Mutex::new(writer))),
            of,
        }
    }

    /// What sends from another thread.
    pub(super) fn writer(&self) -> Writer {
        self.writer.clone()
    }

    /// # Errors
    /// If it is too long, or what carries it is gone.
    pub(super) fn send(&self, to: u32, message: &impl Serialize) -> io::Result<()> {
        self.writer.send(to, message)
    }

    /// The next message; `None` once nobody sends any more. Without a deadline it takes however long it takes.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when there is none by then; or if it is no such message.
    pub(super) fn receive<T: DeserializeOwned>(
        &mut self,
        deadline: Option<Instant>,
    ) -> io::Result<Option<Arrival<T>>> {
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.conversation.has_word(left.max(Duration::from_millis(1)))? {
                return match Instant::now() < deadline {
                    // A signal came in between.
                    true => self.receive(Some(deadline)),
                    false => Err(ErrorKind::TimedOut.into()),
                };
            }
        }
        let Some(envelope) = self.conversation.receive::<Envelope>()? else {
            return Ok(None);
        };
        Ok(Some(match envelope.lost {
            Some(why) => Arrival::Lost {
                rank: envelope.rank,
                why,
            },
            None => Arrival::Message {
                from: envelope.rank,
                message: serde_json::from_str(envelope.body.get())?,
            },
        }))
    }
}
