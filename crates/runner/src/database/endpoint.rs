//! Where a server listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use ciphertax_wire::Address;
use serde::{Deserialize, Serialize};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    /// Host name or address.
    pub(crate) host: String,
    /// TCP port.
    pub(crate) port: u16,
    /// The Unix socket that is connected over instead of TCP.
    pub(crate) socket: Option<PathBuf>,
}

impl Endpoint {
    pub(crate) fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            socket: None,
        }
    }

    /// Of a target, the first one it names and the others.
    pub(crate) fn of_target(first: Self, others: &[Address]) -> Vec<Self> {
        let others = others.iter().map(Self::from);
        [first].into_iter().chain(others).collect()
    }
}

impl From<&Address> for Endpoint {
    fn from(address: &Address) -> Self {
        Self::new(&address.host, address.port)
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::new(address.ip().to_string(), address.port())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(socket) => write!(f, "{}", socket.display()),
            None if self.host.contains(':') => write!(f, "[{}]:{}", self.host, self.port),
            None => write!(f, "{}:{}", self.host, self.port),
        }
    }
}
