//! Which server of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which server of a run: a number, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ServerId(String);

impl ServerId {
    /// That of the server of this number, from 1 on.
    pub fn numbered(number: usize) -> Self {
        Self(number.to_string())
    }
}
