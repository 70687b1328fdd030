//! What a private server is to be, as far as a study says it.

use std::fmt;

use crate::certificate::Certificate;
use crate::replica_set::ReplicaSet;
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
