//! What the threads of a server waited for in a slice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::symbols::StackId;
use crate::sample::SliceId;

/// What was seen of a server's threads in one slice, by looking at all of them again and again without stopping any. A
/// thread's share of the rounds in a state is its share of the slice's time in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Which slice.
    #[serde(flatten)]
    pub slice: SliceId,
    /// How often all threads were looked at.
    pub rounds: u64,
    /// Looks at threads that serve sessions and that ran or could have run, over all rounds.
    pub running: u64,
    /// The same of threads that serve none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub background_running: u64,
    /// Looks at threads that serve sessions and waited for their client's next request.
    pub idle: u64,
    /// Looks in which a thread waited, and went on before its stack was copied: its state is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inconsistent: u64,
    /// Looks at waiting threads whose stack could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// What the others waited for.
    pub blocked: Vec<Blocked>,
    /// What the server itself said that its sessions waited for, where it says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<WaitEvents>,
}

/// What a server itself said that its sessions waited for, asked again and again in one slice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WaitEvents {
    /// How often it was asked.
    pub rounds: u64,
    /// How many sessions at work it named for each event, over all rounds: by the server's names, type before event as in
    /// `LWLock:WALWrite`. Those that waited for nothing are under the empty name.
    pub sessions: BTreeMap<String, u64>,
}

impl Waits {
    /// Of a slice in which nobody looked at threads.
    pub fn unseen(slice: SliceId) -> Self {
        Self {
            slice,
            rounds: 0,
            running: 0,
            background_running: 0,
            idle: 0,
            inconsistent: 0,
            unreadable: 0,
            blocked: Vec::new(),
            events: None,
        }
    }
}

/// Threads that waited with one stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// In which system call, by its name, such as `futex` or `fdatasync`; its number where it has no name here.
    pub call: String,
    /// The variable that a `futex` is part of, where it has a name, such as `LOCK_log` or `COND_manager+40`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Where, in the program.
    pub stack: StackId,
    /// How many looks found a thread so.
    pub seen: u64,
    /// How many of these stacks were unwound to the begin of their thread.
    pub complete: u64,
    /// True of threads that serve no sessions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
