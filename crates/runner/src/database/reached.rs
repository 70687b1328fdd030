//! Where a server listens, and how an arm reaches it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ciphertax_model::Arm;
use ciphertax_wire::Address;
use ciphertax_wire::tls::{TlsConnector, TlsPolicy};
use serde::{Deserialize, Serialize};

use super::clients::Clients;
use crate::error::Result;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    /// Host name or address.
    pub(crate) host: String,
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

/// How an arm reaches its server, before any proof.
pub(crate) struct ReachedArm<D: Clients> {
    pub(crate) endpoint: Endpoint,
    pub(crate) login: D::Login,
    /// `None` for an arm in plaintext.
    pub(crate) policy: Option<TlsPolicy>,
}

impl<D: Clients> ReachedArm<D> {
    /// How ciphertax opens a session of it.
    pub(crate) fn options(&self, database: &D, arm: &Arm) -> Result<D::Options> {
        self.options_by(self.policy.as_ref(), database, arm)
    }

    /// The same by another policy than the arm's own.
    pub(crate) fn options_by(
        &self,
        policy: Option<&TlsPolicy>,
        database: &D,
        arm: &Arm,
    ) -> Result<D::Options> {
        let policy = policy.map(|policy| TlsPolicy {
            alpn: D::ALPN,
            ..policy.clone()
        });
        let tls = policy.as_ref().map(TlsConnector::new).transpose()?;
        let options = database.options(&self.endpoint, &self.login, tls.map(Arc::new));
        Ok(database.options_of_arm(options, arm))
    }
}
