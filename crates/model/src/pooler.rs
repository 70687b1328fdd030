//! What keeps connections to the server open for clients that do not.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transport::Transport;

/// A pooler in front of a private PostgreSQL server, started, proved, accounted for and stopped with its arm. The arm's
/// transport and login are those of the client's connection to the pooler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pooler {
    /// pgbouncer, and for how long a client keeps a connection to the server.
    pub pgbouncer: PoolMode,
    /// How bytes travel between the pooler and the server.
    #[serde(default = "plain", skip_serializing_if = "is_plain")]
    pub server_transport: Transport,
}

fn plain() -> Transport {
    Transport::Plain
}

fn is_plain(transport: &Transport) -> bool {
    *transport == Transport::Plain
}

/// `pgbouncer, transaction pooling, TLSv1.3 behind it`
impl fmt::Display for Pooler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pgbouncer, {} pooling", self.pgbouncer.name())?;
        match self.server_transport {
            Transport::Plain => Ok(()),
            transport => write!(f, ", {transport} behind it"),
        }
    }
}

/// For how long a client keeps a connection to the server, by pgbouncer's own names (`pool_mode`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PoolMode {
    /// Until it disconnects.
    Session,
    /// Until its transaction ends.
    Transaction,
}

impl PoolMode {
    /// The name used in study files and by pgbouncer.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
