//! Nodes that all take part in every commit: MariaDB's by Galera, MySQL's by group replication.

use ciphertax_wire::sql::SqlSession as _;
use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ciphertax_base::Secret;
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;

use super::at_rest::Asked;
use crate::accounts::Account;
use crate::catalogue::capabilities;
use crate::certificates::CertificateFiles;
use crate::error::path::TunnelError;
use crate::error::{Error, Result};
use crate::files::unless_gone;
use crate::locate::cache_root;
use crate::port;
use crate::server::spec::Spec;

const ASK_AGAIN: Duration = Duration::from_millis(20);

/// How the nodes of one server know each other, the same for all nodes.
pub(super) struct Cluster {
    /// Galera's library; `None` for group replication.
    galera: Option<PathBuf>,
    /// Where the nodes tell each other what was written.
    at: IpAddr,
    pub(super) ports: Vec<u16>,
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
        Ok(Some(Self {
            galera: match kind {
                capabilities::Cluster::Galera => Some(library()?),
                capabilities::Cluster::GroupReplication => None,
            },
            at: spec.nodes_at(),
            ports: free_ports(spec.nodes)?,
            tls: tls.filter(|_| spec.cluster_tls).cloned(),
        }))
    }

    /// The statement after which nothing that a node is told on its own way to life reaches the others.
    pub(super) fn for_this_node_alone(&self) -> &'static str {
        match self.galera {
            Some(_) => "SET SESSION wsrep_on = OFF;",
            None => "SET SESSION sql_log_bin = OFF;",
        }
    }

    /// Makes a copy of the first node's data folder that of a node.
    pub(super) fn distinguish(&self, node: usize, data: &Path) -> Result<()> {
        match self.galera {
            Some(_) => self.save_galera_state(node, data),
            None => forget_identity(data),
        }
    }

    /// What a node is started with that its clients find at `port`.
    pub(super) fn options(&self, node: usize, port: u16) -> Vec<OsString> {
        match &self.galera {
            Some(library) => self.galera_options(library, node),
            None => self.group_options(node, port),
        }
    }

    /// Waits until all nodes, each asked as its own, are one.
    pub(super) fn join(&self, nodes: &[Asked<'_>], account: &Account) -> Result<()> {
        match self.galera {
            Some(_) => self.wait_for_galera(nodes),
            None => self.join_group(nodes, account),
        }
    }

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

/// What is said of a setting with this value by which the server wants every table to have a primary key.
pub fn keys_are_wanted(value: &str) -> String {
    format!("{value}, so every table has a primary key")
}

/// What matters of it for a measurement, by the servers' own names.
pub(super) fn settings(spec: &Spec) -> Vec<(&'static str, String)> {
    let (nodes, tls) = (spec.nodes.to_string(), spec.cluster_tls);
    match spec.entry.capabilities.cluster.filter(|_| spec.nodes > 1) {
        None => Vec::new(),
        Some(capabilities::Cluster::Galera) => vec![
            ("wsrep_on", "ON".into()),
            ("wsrep_cluster_size", nodes),
            ("wsrep_slave_threads", "1".into()),
            ("gcache.size", GALERA_CACHE.into()),
            ("socket.ssl", if tls { "YES" } else { "NO" }.into()),
        ],
        Some(capabilities::Cluster::GroupReplication) => vec![
            ("group_replication_group_name", keys_are_wanted(GROUP_NAME)),
            ("group_replication_members", nodes),
            ("group_replication_single_primary_mode", "ON".into()),
            ("group_replication_ssl_mode", ssl_mode(tls).into()),
            ("gtid_mode", "ON".into()),
        ],
    }
}

/// True if its nodes tell each other by their binary logs what was written.
pub(super) fn needs_binary_log(spec: &Spec) -> bool {
    spec.nodes > 1 && spec.entry.capabilities.cluster == Some(capabilities::Cluster::GroupReplication)
}

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

/// The file of the library, and Debian's package of it.
const GALERA_LIBRARY: &str = "libgalera_smm.so";
const GALERA_PACKAGE: &str = "galera-4";

/// Where packages put it.
const GALERA_FOLDERS: [&str; 4] = [
    "/usr/lib/galera",
    "/usr/lib64/galera-4",
    "/usr/lib/galera-4",
    "/usr/lib",
];

/// The state that all nodes begin with.
const FIRST_STATE: &str = "c1940e70-0000-11f0-8000-000000000000";

/// The node with this number, by an identifier of the version that Galera's own have.
fn identity(node: usize) -> String {
    format!("c1940e70-{:04x}-11f0-8000-000000000000", node + 1)
}

/// What a node keeps of what it told the others, for those that were away: the least that any is likely to need here. The default
/// is 128 MB, each a file of that size.
const GALERA_CACHE: &str = "32M";

/// A Galera cluster. Its nodes begin with the same data and the saved state of a cluster that ended in order, each as one of its
/// members: they find each other as after a power failure, and nobody has to copy anything, for which Galera has scripts that
/// refuse root.
impl Cluster {
    fn save_galera_state(&self, node: usize, data: &Path) -> Result<()> {
        let write = |name: &str, text: String| {
            let path = data.join(name);
            fs::write(&path, text).map_err(Error::write(&path))
        };
        write(
            "grastate.dat",
            format!(
                "# GALERA saved state\nversion: 2.1\nuuid: {FIRST_STATE}\nseqno: 0\nsafe_to_bootstrap: 0\n"
            ),
        )?;
        let nodes = 0..self.ports.len();
        let members: String = nodes
            .map(|node| format!("member: {} 0\n", identity(node)))
            .collect();
        write(
            "gvwstate.dat",
            format!(
                "my_uuid: {}\n#vwbeg\nview_id: 3 {} 1\nbootstrap: 0\n{members}#vwend\n",
                identity(node),
                identity(0)
            ),
        )
    }

    fn galera_options(&self, library: &Path, node: usize) -> Vec<OsString> {
        let mut load = OsString::from("--wsrep-provider=");
        load.push(library);
        let address = self.address(node);
        let mut provider = OsString::from(format!(
            "--wsrep-provider-options=base_host={};base_port={};gmcast.listen_addr=tcp://{address};gcache.size={GALERA_CACHE}",
            address.ip(),
            address.port()
        ));
        if let Some(tls) = &self.tls {
            provider.push(";socket.ssl=YES");
            for (name, file) in [
                ("socket.ssl_key", &tls.key),
                ("socket.ssl_cert", &tls.certificate),
                ("socket.ssl_ca", &tls.ca),
            ] {
                provider.push(format!(";{name}="));
                provider.push(file);
            }
        }
        vec![
            "--wsrep-on=ON".into(),
            load,
            format!("--wsrep-cluster-address=gcomm://{}", self.addresses()).into(),
            "--wsrep-cluster-name=ciphertax".into(),
            format!("--wsrep-node-name=node-{node}").into(),
            format!("--wsrep-node-address={address}").into(),
            "--wsrep-sst-method=skip".into(),
            "--binlog-format=ROW".into(),
            "--innodb-autoinc-lock-mode=2".into(),
            provider,
        ]
    }

    /// Waits until every node says that it is one of all, and has what they have.
    fn wait_for_galera(&self, nodes: &[Asked<'_>]) -> Result<()> {
        let all = self.ports.len().to_string();
        for node in nodes {
            node.run(async |reactor, session| {
                while !is_one_of(session, &all).await? {
                    pause(reactor).await;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

async fn is_one_of(session: &mut Session, all: &str) -> Result<bool, WireError> {
    let rows = session
        .query("SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_local_state_comment')")
        .await?;
    let has = |name: &str, value: &str| {
        let mut rows = rows.iter();
        rows.any(|row| row.text(0).eq_ignore_ascii_case(name) && row.text(1) == value)
    };
    Ok(has("wsrep_cluster_size", all) && has("wsrep_local_state_comment", "Synced"))
}

pub(super) fn is_installed() -> Result<()> {
    library().map(drop)
}

fn library() -> Result<PathBuf> {
    let in_cache = cache_root().map(|root| root.join("tunnels"));
    let in_cache = in_cache
        .iter()
        .flat_map(|root| ["usr/lib/galera", "usr/lib"].map(|folder| root.join(folder)));
    let folders: Vec<PathBuf> = GALERA_FOLDERS
        .map(PathBuf::from)
        .into_iter()
        .chain(in_cache)
        .collect();
    let mut files = folders.iter().map(|folder| folder.join(GALERA_LIBRARY));
    files.find(|file| file.is_file()).ok_or_else(|| {
        let searched = folders.iter().map(|folder| folder.display().to_string());
        TunnelError::NotInstalled {
            program: format!("Galera ({GALERA_LIBRARY})"),
            package: GALERA_PACKAGE.into(),
            searched: searched.collect::<Vec<_>>().join(", "),
        }
        .into()
    })
}

/// The group; nobody else's node can reach this one.
const GROUP_NAME: &str = "c1940e70-0000-4000-8000-000000000000";

/// Where a node keeps its identity, which it makes anew if it has none.
const IDENTITY_FILE: &str = "auto.cnf";

/// Group replication of MySQL, with a single primary: the first node.
impl Cluster {
    fn group_options(&self, node: usize, port: u16) -> Vec<OsString> {
        let option = |(name, value): (&str, String)| OsString::from(format!("--{name}={value}"));
        [
            ("server-id", (node + 1).to_string()),
            ("gtid-mode", "ON".into()),
            ("enforce-gtid-consistency", "ON".into()),
            // A group refuses rows of tables that have none, as histories do.
            ("sql-generate-invisible-primary-key", "ON".into()),
            ("plugin-load-add", "group_replication.so".into()),
            ("report-host", self.at.to_string()),
            ("report-port", port.to_string()),
            ("loose-group-replication-group-name", GROUP_NAME.into()),
            (
                "loose-group-replication-local-address",
                self.address(node).to_string(),
            ),
            // Left alone it lets in private networks, of which a link's addresses are none.
            ("loose-group-replication-ip-allowlist", self.at.to_string()),
            ("loose-group-replication-group-seeds", self.addresses()),
            ("loose-group-replication-start-on-boot", "OFF".into()),
            (
                "loose-group-replication-ssl-mode",
                ssl_mode(self.tls.is_some()).into(),
            ),
            (
                "loose-group-replication-recovery-use-ssl",
                if self.tls.is_some() { "ON" } else { "OFF" }.into(),
            ),
            // A node that joins logs in to another, once.
            ("loose-group-replication-recovery-get-public-key", "ON".into()),
        ]
        .map(option)
        .to_vec()
    }

    /// The first node is the group; the others join it one after the other.
    fn join_group(&self, nodes: &[Asked<'_>], account: &Account) -> Result<()> {
        for (number, node) in nodes.iter().enumerate() {
            node.run(async |_, session| {
                let is_first = number == 0;
                if is_first {
                    session
                        .query("SET GLOBAL group_replication_bootstrap_group = ON")
                        .await?;
                }
                session.query(&start(&account.user, &account.password)).await?;
                if is_first {
                    session
                        .query("SET GLOBAL group_replication_bootstrap_group = OFF")
                        .await?;
                }
                Ok(())
            })?;
        }
        let all = self.ports.len().to_string();
        let online =
            "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'";
        for node in nodes {
            node.run(async |reactor, session| {
                loop {
                    let rows = session.query(online).await?;
                    if rows.first().is_some_and(|row| row.text(0) == all) {
                        return Ok(());
                    }
                    pause(reactor).await;
                }
            })?;
        }
        Ok(())
    }
}

fn forget_identity(data: &Path) -> Result<()> {
    let path = data.join(IDENTITY_FILE);
    unless_gone(fs::remove_file(&path))
        .map(drop)
        .map_err(Error::write(&path))
}

/// Passwords here are letters and digits alone.
fn start(user: &str, password: &Secret) -> String {
    format!(
        "START GROUP_REPLICATION USER = '{user}', PASSWORD = '{}'",
        password.expose()
    )
}

fn ssl_mode(tls: bool) -> &'static str {
    if tls { "REQUIRED" } else { "DISABLED" }
}
