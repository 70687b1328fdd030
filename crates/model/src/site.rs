//! Private servers, by what cells need.

use std::fmt;

use crate::certificate::Certificate;
use crate::replica_set::ReplicaSet;

/// Which private server a cell is measured on; cells that agree in this share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Name in the catalogue.
    pub server: String,
    /// Its certificate.
    pub certificate: Certificate,
    /// True if it is reached over a link with a distance of its own.
    pub distant: bool,
    /// The replica set it is; `None` for a single server.
    pub replica_set: Option<ReplicaSet>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.server, self.certificate.kind)?;
        if self.certificate.chain_length > 1 {
            write!(f, " in a chain of {}", self.certificate.chain_length)?;
        }
        if let Some(replica_set) = self.replica_set {
            write!(f, ", {replica_set}")?;
        }
        if self.distant {
            f.write_str(", at a distance")?;
        }
        Ok(())
    }
}
