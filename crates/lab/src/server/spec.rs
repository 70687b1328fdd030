//! The specification of a private server, and whom it trusts.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use ciphertax_model::{AtRest, AuthenticationMethod, CertificateKind, ReplicaSet, Storage, TlsVersion};
use serde::{Deserialize, Serialize};

use crate::catalogue::Entry;
use crate::certificates::{Authority, CertificateFiles, ClientCertificateFiles};
use crate::error::{Error, Result};

/// Connections that a server takes at a time, if not more are asked for.
pub(super) const CONNECTIONS: u32 = 2_000;

/// What a private server is to be.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) entry: &'static Entry,
    pub(crate) tls: Tls,
    /// Certificates that the server sends.
    pub(crate) chain_length: u8,
    /// The TLS versions that it offers; empty for its own choice.
    pub(crate) tls_versions: Vec<TlsVersion>,
    /// Methods of the accounts besides the default one, each once.
    pub(crate) accounts: Vec<AuthenticationMethod>,
    /// Methods and iterations of accounts for SCRAM with keys of their own, each once.
    pub(crate) scram_accounts: Vec<(AuthenticationMethod, u32)>,
    /// Nobody may do anything without a login.
    pub(crate) access_control: bool,
    pub(crate) replica_set: Option<ReplicaSet>,
    /// How many nodes its cluster has; 1 for a single server.
    pub(crate) nodes: u8,
    /// Servers that hold the same data encrypt what they tell each other.
    pub(crate) cluster_tls: bool,
    /// Connections that it takes at a time.
    pub(crate) connections: u32,
    /// Memory for data and indexes, in megabytes; `None` for what is usual here.
    pub(crate) cache_mb: Option<u32>,
    /// How large its redo log may become, in megabytes; `None` for the server's own size.
    pub(crate) redo_log_mb: Option<u32>,
    pub(crate) storage: Storage,
    /// What it encrypts on the disk, and the file system that it writes to.
    pub(crate) at_rest: AtRest,
    /// Room for all that it writes, in megabytes; `None` for what its family needs.
    pub(crate) disk_mb: Option<u64>,
    pub(crate) options: Vec<String>,
    /// The link that it is inside of.
    pub(crate) inside: Option<Endpoints>,
}

/// Whether a server offers TLS, and with which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    WithDefaultKey,
    With(CertificateKind),
    Off,
}

/// Where a link is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// Where a server inside, listening on all addresses, is reached at the link's distance.
    pub delayed: Ipv4Addr,
    /// Where the same server is reached without delay, for control connections.
    pub direct: Ipv4Addr,
    /// Where the nodes of a server inside reach each other, at their distance, and where they are found by who is told of this
    /// address, at the link's; `None` if they have no distance.
    pub nodes: Option<Ipv4Addr>,
    /// The network namespace in which a server is at the link's distance, as long as the link lives.
    pub namespace: PathBuf,
}

impl Endpoints {
    /// Where measured clients reach a server inside.
    pub fn measured(&self) -> Ipv4Addr {
        self.nodes.unwrap_or(self.delayed)
    }
}

impl Spec {
    pub(crate) fn new(entry: &'static Entry) -> Self {
        Self {
            entry,
            tls: Tls::WithDefaultKey,
            chain_length: 1,
            tls_versions: Vec::new(),
            accounts: Vec::new(),
            scram_accounts: Vec::new(),
            access_control: true,
            replica_set: None,
            nodes: 1,
            cluster_tls: false,
            connections: CONNECTIONS,
            cache_mb: None,
            redo_log_mb: None,
            storage: Storage::default(),
            at_rest: AtRest::default(),
            disk_mb: None,
            options: Vec::new(),
            inside: None,
        }
    }

    /// True if more connections are asked for than there can well be threads or processes.
    pub(crate) fn has_many_connections(&self) -> bool {
        self.connections > CONNECTIONS
    }

    /// The key of its certificate; `None` without TLS.
    pub(crate) fn key(&self) -> Option<CertificateKind> {
        let known = self.entry.capabilities.certificates;
        match self.tls {
            Tls::Off => None,
            Tls::WithDefaultKey if known.is_empty() => None,
            Tls::With(kind) => Some(kind),
            Tls::WithDefaultKey if known.contains(&CertificateKind::default()) => {
                Some(CertificateKind::default())
            }
            Tls::WithDefaultKey => Some(CertificateKind::Rsa2048),
        }
    }

    /// True if it is offered what OpenSSL's security levels forbid: TLS before 1.2 or RSA keys of 1024 bits.
    pub(crate) fn needs_every_security_level(&self) -> bool {
        let old = self
            .tls_versions
            .iter()
            .any(|version| *version < TlsVersion::V1_2);
        old || self.key() == Some(CertificateKind::Rsa1024)
    }

    /// Where it is reached without delay.
    pub(crate) fn reached_at(&self) -> IpAddr {
        let inside = self.inside.as_ref();
        inside.map_or(Ipv4Addr::LOCALHOST, |inside| inside.direct).into()
    }

    /// Where measured clients reach it.
    pub(crate) fn measured_at(&self) -> IpAddr {
        let inside = self.inside.as_ref();
        inside.map_or(Ipv4Addr::LOCALHOST, Endpoints::measured).into()
    }

    /// Where its nodes reach each other.
    pub(crate) fn nodes_at(&self) -> IpAddr {
        let nodes = self.inside.as_ref().and_then(|inside| inside.nodes);
        nodes.unwrap_or(Ipv4Addr::LOCALHOST).into()
    }

    /// The address that it listens on: all those of a link's namespace, which nobody else can reach.
    pub(crate) fn listens_on(&self) -> Ipv4Addr {
        match self.inside {
            Some(_) => Ipv4Addr::UNSPECIFIED,
            None => Ipv4Addr::LOCALHOST,
        }
    }

    /// Further options as settings: names without dashes at the front, and their values.
    pub(crate) fn option_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|option| {
            let (name, value) = option.split_once('=').unwrap_or((option, "ON"));
            (name.trim_start_matches('-'), value)
        })
    }
}

/// What clients of a server with TLS trust, and what signs their certificates.
pub(crate) struct Trust {
    /// The server's certificate, and that of the authority.
    pub(crate) files: CertificateFiles,
    /// The common name of clients that the server takes.
    pub(crate) client_name: &'static str,
    pub(crate) authority: Authority,
}

impl Trust {
    /// A new certificate for a client of this name with a key of this kind, in a folder of its own below `folder`.
    pub(crate) fn client_certificate(
        &self,
        folder: &Path,
        client: &str,
        kind: CertificateKind,
    ) -> Result<ClientCertificateFiles> {
        let folder = folder.join(format!("client-{kind}"));
        fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
        self.authority.issue_client(&folder, client, kind)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// The folder of them in a private folder: all that a server writes rows to, and nothing else. It lies on the file system
/// that was asked for.
const DISK: &str = "disk";

/// Where the servers in a private folder keep what they write.
pub(crate) fn disk_of(folder: &Path) -> PathBuf {
    folder.join(DISK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{MARIADB, MARIADB_10_2};

    #[test]
    fn the_default_key_is_one_that_the_server_knows() {
        let mut spec = Spec::new(&MARIADB);
        assert_eq!(spec.key(), Some(CertificateKind::EcdsaP256));
        assert_eq!(Spec::new(&MARIADB_10_2).key(), Some(CertificateKind::Rsa2048));
        spec.tls = Tls::Off;
        assert_eq!(spec.key(), None);
    }

    #[test]
    fn old_versions_and_short_keys_need_every_security_level() {
        let mut spec = Spec::new(&MARIADB);
        spec.tls_versions = vec![TlsVersion::V1_2, TlsVersion::V1_3];
        assert!(!spec.needs_every_security_level());
        spec.tls_versions.push(TlsVersion::V1_1);
        assert!(spec.needs_every_security_level());
        spec.tls_versions.clear();
        spec.tls = Tls::With(CertificateKind::Rsa1024);
        assert!(spec.needs_every_security_level());
    }
}
