//! What `ciphertax-mpi` carries between the load generators of a run: one line of JSON a message, by [`Conversation`].
//!
//! [`Conversation`]: crate::Conversation

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message, or that there will be none.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Whom it is to, and when it arrives, whom it is from.
    pub rank: u32,
    /// What it says.
    #[serde(default)]
    pub body: Value,
    /// Why no more will come from there; absent from every message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl Envelope {
    /// A message to or from a load generator.
    pub fn new(rank: u32, body: Value) -> Self {
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
            body: Value::Null,
            lost: Some(why.into()),
        }
    }
}
