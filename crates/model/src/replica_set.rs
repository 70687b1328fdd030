//! Replica sets of MongoDB: how many servers hold the data, and which of them is asked.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A replica set of private servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplicaSet {
    /// Members that vote and can become the primary: 1, 3 or 5.
    pub members: u8,
    /// One more member that holds the data and is read from, but neither votes nor becomes the primary.
    #[serde(default)]
    pub read_only_member: bool,
}

impl ReplicaSet {
    /// Servers in all.
    pub fn servers(self) -> u8 {
        self.members + u8::from(self.read_only_member)
    }

    /// True if there is a member to read from besides the primary.
    pub fn has_secondaries(self) -> bool {
        self.servers() > 1
    }

    /// True for a number of members that can elect a primary, and that a machine can hold.
    pub fn is_electable(self) -> bool {
        matches!(self.members, 1 | 3 | 5)
    }
}

/// `replica set of 3 and a read-only member`
impl fmt::Display for ReplicaSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replica set of {}", self.members)?;
        if self.read_only_member {
            f.write_str(" and a read-only member")?;
        }
        Ok(())
    }
}

/// Which member of a replica set is read from, by MongoDB's own names.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReadPreference {
    /// The primary.
    #[default]
    Primary,
    /// The secondaries, in turn.
    Secondary,
    /// The member that answers soonest.
    Nearest,
}

impl ReadPreference {
    /// The name used in study files and by MongoDB.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
