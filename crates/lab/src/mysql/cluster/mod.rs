//! Nodes that all take part in every commit: MariaDB's by Galera, MySQL's by group replication.

mod galera;
mod group_replication;

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;

use crate::accounts::Account;
use crate::catalogue::capabilities;
use crate::certificates::CertificateFiles;
use crate::error::Result;
use crate::port;
use crate::server::spec::Spec;

use self::galera::Galera;
use self::group_replication::GroupReplication;
use super::at_rest::Asked;

pub(super) use self::galera::is_installed;

/// How often a node is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// How the nodes of one server know each other.
pub(super) enum Cluster {
    Galera(Galera),
    GroupReplication(GroupReplication),
}

/// Where the nodes tell each other what was written, the same for all nodes.
struct Between {
    at: IpAddr,
    ports: Vec<u16>,
    /// What they show each other; `None` for nodes that talk in plaintext.
    tls: Option<CertificateFiles>,
}

impl Cluster {
    /// That of a server that is to be one; `None` for a single server.
    pub(super) fn of(spec: &Spec, tls: Option<&CertificateFiles>) -> Result<Option<Self>> {
        let kind = spec.entry.capabilities.cluster.filter(|_| spec.nodes > 1);
        let Some(kind) = kind else {
            return Ok(None);
        };
        let between = Between {
            at: spec.nodes_at(),
            ports: free_ports(spec.nodes)?,
            tls: tls.filter(|_| spec.cluster_tls).cloned(),
        };
        Ok(Some(match kind {
            capabilities::Cluster::Galera => Self::Galera(Galera::new(between)?),
            capabilities::Cluster::GroupReplication => {
                Self::GroupReplication(GroupReplication::new(between)?)
            }
        }))
    }

    fn between(&self) -> &Between {
        match self {
            Self::Galera(galera) => galera.between(),
            Self::GroupReplication(group) => group.between(),
        }
    }

    /// Where the nodes tell each other what was written.
    pub(super) fn ports(&self) -> &[u16] {
        &self.between().ports
    }

    /// The statement after which nothing that a node is told on its own way to life reaches the others.
    pub(super) fn for_this_node_alone(&self) -> &'static str {
        match self {
            Self::Galera(_) => "SET SESSION wsrep_on = OFF;",
            Self::GroupReplication(_) => "SET SESSION sql_log_bin = OFF;",
        }
    }

    /// Makes a copy of the first node's data folder that of a node.
    pub(super) fn distinguish(&self, node: usize, data: &Path) -> Result<()> {
        match self {
            Self::Galera(galera) => galera.distinguish(node, data),
            Self::GroupReplication(group) => group.distinguish(data),
        }
    }

    /// What a node is started with that its clients find at `port`.
    pub(super) fn options(&self, node: usize, port: u16) -> Vec<OsString> {
        match self {
            Self::Galera(galera) => galera.options(node),
            Self::GroupReplication(group) => group.options(node, port),
        }
    }

    /// Waits until all nodes, each asked as its own, are one.
    pub(super) fn join(&self, nodes: &[Asked<'_>], account: &Account) -> Result<()> {
        match self {
            Self::Galera(galera) => galera.wait(nodes),
            Self::GroupReplication(group) => group.join(nodes, account),
        }
    }
}

/// What matters of it for a measurement, by the servers' own names.
pub(super) fn settings(spec: &Spec) -> Vec<(&'static str, String)> {
    match spec.entry.capabilities.cluster.filter(|_| spec.nodes > 1) {
        None => Vec::new(),
        Some(capabilities::Cluster::Galera) => galera::settings(spec.nodes, spec.cluster_tls),
        Some(capabilities::Cluster::GroupReplication) => {
            group_replication::settings(spec.nodes, spec.cluster_tls)
        }
    }
}

/// True if its nodes tell each other by their binary logs what was written.
pub(super) fn needs_binary_log(spec: &Spec) -> bool {
    spec.nodes > 1 && spec.entry.capabilities.cluster == Some(capabilities::Cluster::GroupReplication)
}

/// A port for each node, all of them different.
fn free_ports(nodes: u8) -> Result<Vec<u16>> {
    let mut ports = Vec::new();
    while ports.len() < usize::from(nodes) {
        let port = port::free()?;
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    Ok(ports)
}

/// Until a node is asked again.
async fn pause(reactor: &Reactor) {
    reactor.sleep_until(Instant::now() + ASK_AGAIN).await;
}

impl Between {
    /// `127.0.0.1:20001`
    fn address(&self, node: usize) -> SocketAddr {
        (self.at, self.ports[node]).into()
    }

    /// `127.0.0.1:20001,127.0.0.1:20002`
    fn addresses(&self) -> String {
        let addresses = (0..self.ports.len()).map(|node| self.address(node).to_string());
        addresses.collect::<Vec<_>>().join(",")
    }
}
