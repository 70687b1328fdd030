//! What a server can do: data, by which the runner refuses what a server cannot.

use ciphertax_model::{AuthenticationMethod, CertificateKind, Group, Resumption, TlsVersion};
use serde::Serialize;

use super::at_rest::{AtRestCapabilities, StorageCapabilities};

/// What a server can do, as far as arms ask for it. Held to by tests against the real server.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Capabilities {
    /// TLS versions that can be enabled, the oldest first.
    pub tls_versions: &'static [TlsVersion],
    /// Keys that its certificate can have, and those of client certificates.
    pub certificates: &'static [CertificateKind],
    /// Groups of the key exchange; empty where there is only RSA or Diffie-Hellman over finite fields.
    pub groups: &'static [Group],
    /// Cipher suites.
    pub ciphers: Ciphers,
    /// How sessions can be resumed, by TLS version.
    pub resumption: &'static [VersionResumption],
    /// How accounts can log in; by the first the default account does.
    pub authentication: &'static [AuthenticationMethod],
    /// The statement that makes it forget the passwords of logins by `caching_sha2_password`; `None` where it never
    /// remembers one, so that every such login is cold.
    pub forget_passwords: Option<&'static str>,
    /// Whether it can listen on several chosen addresses (`bind_address=a,b`), and not only on one or on all.
    pub several_addresses: bool,
    /// Whether its sessions below TLS 1.3 can be renegotiated safely (RFC 5746). Where not, a client of OpenSSL 3 must
    /// allow legacy connections.
    pub secure_renegotiation: bool,
    /// Whether it takes a TLS handshake without being asked for one first.
    pub direct_tls: bool,
    /// How several of them can hold the same data and all take part in every commit; `None` where they cannot.
    pub cluster: Option<Cluster>,
    /// What it can encrypt on the disk by itself.
    pub at_rest: AtRestCapabilities,
    /// How it can be told to keep data in memory, and to write them.
    pub storage: StorageCapabilities,
}

/// How nodes that all take part in every commit do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cluster {
    /// Galera's write sets, which a library carries that MariaDB loads.
    Galera,
    /// MySQL's group replication, with a single primary.
    GroupReplication,
}

/// How sessions of a TLS version can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VersionResumption {
    /// The TLS version.
    pub version: TlsVersion,
    /// The ways there are.
    pub by: &'static [Resumption],
}

pub(super) const fn resumed(version: TlsVersion, by: &'static [Resumption]) -> VersionResumption {
    VersionResumption { version, by }
}

/// Which cipher suites a server has, by OpenSSL's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ciphers {
    /// These alone.
    Only(&'static [&'static str]),
    /// Those of its library that have none of these words in their names, such as `CHACHA20`.
    Without(&'static [&'static str]),
}

impl Ciphers {
    /// True for a suite that the server has.
    pub fn has(self, cipher: &str) -> bool {
        match self {
            Self::Only(names) => names.contains(&cipher),
            Self::Without(words) => !cipher.split(['-', '_']).any(|word| words.contains(&word)),
        }
    }
}

impl Capabilities {
    /// How sessions of a TLS version can be resumed.
    pub fn resumed_by(&self, version: TlsVersion) -> &'static [Resumption] {
        let mut versions = self.resumption.iter();
        versions
            .find(|entry| entry.version == version)
            .map_or(&[], |entry| entry.by)
    }
}
