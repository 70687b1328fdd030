//! Which server it is, and of how many it is one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authentication::Certificate;
use crate::storage::Storage;

/// Which private server a cell is measured on; cells that agree in this share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerSpec {
    /// Name in the catalogue.
    pub server: String,
    /// Its certificate.
    pub certificate: Certificate,
    /// True if it is reached over a link with a distance of its own.
    pub distant: bool,
    /// The replica set it is; `None` for a single server.
    pub replica_set: Option<ReplicaSet>,
    /// How many nodes its cluster has: 1 for a single server.
    pub nodes: u8,
    /// True if its nodes, or the members of its replica set, have a distance between them.
    pub nodes_distant: bool,
    /// Its memory, and how it writes.
    pub storage: Storage,
}

impl ServerSpec {
    /// True for nodes that all take part in every commit: Galera's, or those of MySQL's group replication.
    pub fn is_cluster(&self) -> bool {
        self.nodes > 1
    }

    /// Servers that hold the same data.
    pub fn servers(&self) -> u8 {
        self.replica_set.map_or(self.nodes, ReplicaSet::servers)
    }
}

/// `mariadb, ecdsa-p256, 3 nodes`
impl fmt::Display for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.server, self.certificate.kind)?;
        if self.certificate.chain_length > 1 {
            write!(f, " in a chain of {}", self.certificate.chain_length)?;
        }
        if let Some(replica_set) = self.replica_set {
            write!(f, ", {replica_set}")?;
        }
        if self.is_cluster() {
            write!(f, ", {} nodes", self.nodes)?;
        }
        if self.nodes_distant {
            f.write_str(" apart")?;
        }
        if self.distant {
            f.write_str(", at a distance")?;
        }
        if !self.storage.is_default() {
            write!(f, ", {}", self.storage)?;
        }
        Ok(())
    }
}

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
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr)]
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
