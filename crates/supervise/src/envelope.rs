//! What `ciphertax-mpi` carries between the load generators of a run: one line of JSON a message, by [`Conversation`].
//!
//! [`Conversation`]: crate::Conversation

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// A message, or that there will be none.
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
