//! What a server can do: data, by which the runner refuses what a server cannot.

use ciphertax_model::{
    AtRestAlgorithm, AtRestPart, AuthenticationMethod, CertificateKind, Group, Resumption, Storage,
    TlsVersion,
};
use serde::Serialize;

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
    /// Of most servers: an entry says what is otherwise.
    pub(crate) const USUAL: Self = Self {
        tls_versions: &TlsVersion::ALL,
        certificates: &CertificateKind::ALL,
        groups: &[Group::X25519, Group::P256, Group::P384],
        ciphers: Ciphers::Without(&["CCM"]),
        resumption: &[],
        authentication: &[],
        forget_passwords: None,
        several_addresses: true,
        secure_renegotiation: true,
        direct_tls: false,
        cluster: None,
        at_rest: AtRestCapabilities::NONE,
        storage: MEMORY_ALONE,
    };

    /// How sessions of a TLS version can be resumed.
    pub fn resumed_by(&self, version: TlsVersion) -> &'static [Resumption] {
        let mut versions = self.resumption.iter();
        versions
            .find(|entry| entry.version == version)
            .map_or(&[], |entry| entry.by)
    }
}

/// What a server can encrypt on the disk by itself. Held to by tests that search its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AtRestCapabilities {
    /// The parts of its files.
    pub parts: &'static [AtRestPart],
    /// The ciphers that there is a choice of; empty where there is none.
    pub algorithms: &'static [AtRestAlgorithm],
    /// Whether background threads can be told to encrypt what is there.
    pub encryption_threads: bool,
    /// Whether the whole file can be encrypted by SQLCipher.
    pub sqlcipher: bool,
}

impl AtRestCapabilities {
    /// Of a server that writes everything as it is.
    pub(crate) const NONE: Self = Self {
        parts: &[],
        algorithms: &[],
        encryption_threads: false,
        sqlcipher: false,
    };
}

/// How a server can be told to keep data in memory, and to write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StorageCapabilities {
    /// The settings that it has, as study files name them.
    pub settings: &'static [&'static str],
    /// The least memory for data and indexes that it starts with, in megabytes.
    pub least_memory_mb: u32,
}

/// What servers of MySQL's family have: all.
pub(super) const ALL_OF_STORAGE: StorageCapabilities = StorageCapabilities {
    settings: &[
        "memory_mb",
        "flush",
        "flush_log_at_trx_commit",
        "binary_log",
        "sync_binlog",
        "doublewrite",
    ],
    least_memory_mb: *Storage::MEMORY_MB.start(),
};

/// What every server has.
pub(super) const MEMORY_ALONE: StorageCapabilities = StorageCapabilities {
    settings: &["memory_mb"],
    least_memory_mb: *Storage::MEMORY_MB.start(),
};
