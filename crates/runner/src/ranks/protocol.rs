//! What load generators say to each other, and what carries it. The conductor asks, a follower answers, in turns; a
//! follower begins with [`Hello`](super::hello::Hello).

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ciphertax_engine::{Failure, SliceYield};
use ciphertax_model::{Cell, Study};
use ciphertax_records::Yield;
use ciphertax_supervise::{Conversation, Envelope};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::clock::ns_of;
use super::reach::ArmReach;
use crate::agent;
use crate::error::{Result, RunError};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// What its clock says.
    Clock,
    /// To write its part of the rows of a data set: that of this number, of so many.
    Load {
        part: (u32, u32),
        loading: Box<Loading>,
    },
    /// To start its load threads for its part of a cell's load, whose slices are called by the number `load`.
    Start {
        load: u32,
        part: (u32, u32),
        start: Box<Start>,
    },
    /// To open its connections to an arm, and to check them.
    Prepare {
        load: u32,
        arm: usize,
    },
    Slice(CalledSlice),
    /// What an agent is asked. The answer has the same number: one that comes too late is none to the next question.
    Agent {
        number: u64,
        request: agent::Request,
    },
}

/// A data set, and how it is reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Loading {
    /// With the cells alone that ask it.
    pub(crate) study: Study,
    pub(crate) reach: ArmReach,
}

/// A cell, and what is needed to make its part of the load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) study: Study,
    pub(crate) cell: String,
    /// In the order of the cell.
    pub(crate) arms: Vec<ArmReach>,
    pub(crate) seed: u64,
}

impl Start {
    /// The cell.
    pub(crate) fn cell(&self) -> Result<&Cell> {
        let found = self.study.cells.iter().find(|cell| cell.name == self.cell);
        found.ok_or_else(|| RunError::Rank(format!("there is no cell {} in the study", self.cell)))
    }
}

/// A slice that all work together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct CalledSlice {
    pub(super) load: u32,
    pub(super) arm: usize,
    /// When it begins, by the follower's clock.
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// What its clock says, in nanoseconds.
    Clock(u64),
    /// It has written its part, as far as it could.
    Loaded,
    /// Its load threads have started.
    Started {
        workers: u32,
    },
    /// Its connections are open, or why not.
    Prepared(Option<Failure>),
    Yielded(Box<Yielded>),
    /// What an agent answers.
    Agent {
        number: u64,
        answer: Box<agent::Answer>,
    },
    /// It still works at what it was asked.
    Alive,
    /// It cannot go on, and why.
    Refused(String),
}

/// What one of them did in a slice.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Yielded {
    /// How long before its beginning it heard of the slice, by its own clock; less than 0 for afterwards.
    pub(super) heard_before_ns: i64,
    /// When its first load thread began, or its schedule did, by its own clock.
    pub(super) began_ns: u64,
    /// How long after the beginning of its schedule its last load thread began.
    pub(super) late_ns: u64,
    pub(super) recorded: Yield,
    pub(super) failures: u64,
    pub(super) first_failure: Option<Failure>,
    pub(super) unfinished: u64,
    pub(super) interrupted: bool,
}

impl Yielded {
    /// What the load threads of this process did.
    pub(super) fn here(yielded: SliceYield, heard_before_ns: i64) -> Self {
        Self {
            heard_before_ns,
            began_ns: ns_of(yielded.began),
            late_ns: yielded.late.as_nanos() as u64,
            recorded: yielded.recorded,
            failures: yielded.failures,
            first_failure: yielded.first_failure,
            unfinished: yielded.unfinished,
            interrupted: yielded.interrupted,
        }
    }

    pub(super) fn ended_ns(&self) -> u64 {
        self.began_ns.saturating_add(self.recorded.duration_ns)
    }
}

/// A failure with the name of the load generator that it happened to.
pub(super) fn named(failure: Failure, rank: &str) -> Failure {
    let said = |message: String| format!("{rank}: {message}");
    match failure {
        Failure::Error(message) => Failure::Error(said(message)),
        Failure::Disconnected(message) => Failure::Disconnected(said(message)),
        Failure::FactsDiffer(message) => Failure::FactsDiffer(said(message)),
    }
}

/// The way of one load generator to the others.
#[derive(Debug)]
pub struct Channel {
    conversation: Conversation,
    /// What sends, from other threads too.
    pub(super) writer: Writer,
    /// How many there are, with this one.
    pub(super) of: u32,
}

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
