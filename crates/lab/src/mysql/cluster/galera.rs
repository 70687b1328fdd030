//! A Galera cluster.
//!
//! Its nodes begin with the same data and the saved state of a cluster that ended in order, each as one of its members: they
//! find each other as after a power failure, and nobody has to copy anything, for which Galera has scripts that refuse root.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::Statements as _;

use crate::error::{Error, Result};
use crate::locate::cache_root;
use crate::mysql::at_rest::Asked;
use crate::tunnel::TunnelError;

use super::{Between, pause};

/// The file of the library, and Debian's package of it.
const LIBRARY: &str = "libgalera_smm.so";
const PACKAGE: &str = "galera-4";

/// Where packages put it.
const FOLDERS: [&str; 4] = [
    "/usr/lib/galera",
    "/usr/lib64/galera-4",
    "/usr/lib/galera-4",
    "/usr/lib",
];

/// The state that all nodes begin with.
const STATE: &str = "c1940e70-0000-11f0-8000-000000000000";

/// The node with this number, by an identifier of the version that Galera's own have.
fn identity(node: usize) -> String {
    format!("c1940e70-{:04x}-11f0-8000-000000000000", node + 1)
}

/// What a node keeps of what it told the others, for those that were away: the least that any is likely to need here. The default
/// is 128 MB, each a file of that size.
const CACHE: &str = "32M";

pub(in crate::mysql) struct Galera {
    library: PathBuf,
    between: Between,
}

impl Galera {
    pub(super) fn new(between: Between) -> Result<Self> {
        Ok(Self {
            library: library()?,
            between,
        })
    }

    pub(super) fn between(&self) -> &Between {
        &self.between
    }

    pub(super) fn distinguish(&self, node: usize, data: &Path) -> Result<()> {
        let write = |name: &str, text: String| {
            let path = data.join(name);
            fs::write(&path, text).map_err(Error::write(&path))
        };
        write(
            "grastate.dat",
            format!("# GALERA saved state\nversion: 2.1\nuuid: {STATE}\nseqno: 0\nsafe_to_bootstrap: 0\n"),
        )?;
        let nodes = 0..self.between.ports.len();
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

    pub(super) fn options(&self, node: usize) -> Vec<OsString> {
        let mut library = OsString::from("--wsrep-provider=");
        library.push(&self.library);
        let address = self.between.address(node);
        let mut provider = OsString::from(format!(
            "--wsrep-provider-options=base_host={};base_port={};gmcast.listen_addr=tcp://{address};gcache.size={CACHE}",
            address.ip(),
            address.port()
        ));
        if let Some(tls) = &self.between.tls {
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
            library,
            format!("--wsrep-cluster-address=gcomm://{}", self.between.addresses()).into(),
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
    pub(super) fn wait(&self, nodes: &[Asked<'_>]) -> Result<()> {
        let all = self.between.ports.len().to_string();
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

async fn is_one_of(session: &mut Session, all: &str) -> std::result::Result<bool, WireError> {
    let rows = session
        .query("SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_local_state_comment')")
        .await?;
    let has = |name: &str, value: &str| {
        let mut rows = rows.iter();
        rows.any(|row| row.text(0).eq_ignore_ascii_case(name) && row.text(1) == value)
    };
    Ok(has("wsrep_cluster_size", all) && has("wsrep_local_state_comment", "Synced"))
}

pub(super) fn settings(nodes: u8, tls: bool) -> Vec<(&'static str, String)> {
    vec![
        ("wsrep_on", "ON".into()),
        ("wsrep_cluster_size", nodes.to_string()),
        ("wsrep_slave_threads", "1".into()),
        ("gcache.size", CACHE.into()),
        ("socket.ssl", if tls { "YES" } else { "NO" }.into()),
    ]
}

/// Makes sure that there is a library to load.
///
/// # Errors
/// Says where it was looked for, and the remedy.
pub(in crate::mysql) fn is_installed() -> Result<()> {
    library().map(drop)
}

fn library() -> Result<PathBuf> {
    let in_cache = cache_root().map(|root| root.join("tunnels"));
    let in_cache = in_cache
        .iter()
        .flat_map(|root| ["usr/lib/galera", "usr/lib"].map(|folder| root.join(folder)));
    let folders: Vec<PathBuf> = FOLDERS.map(PathBuf::from).into_iter().chain(in_cache).collect();
    let mut files = folders.iter().map(|folder| folder.join(LIBRARY));
    files.find(|file| file.is_file()).ok_or_else(|| {
        let searched = folders.iter().map(|folder| folder.display().to_string());
        TunnelError::NotInstalled {
            program: format!("Galera ({LIBRARY})"),
            package: PACKAGE.into(),
            searched: searched.collect::<Vec<_>>().join(", "),
        }
        .into()
    })
}
