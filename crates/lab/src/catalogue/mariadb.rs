//! MariaDB as Debian builds it, with OpenSSL.

use ciphertax_model::AtRestPart::{Aria, BinaryLog, RedoLog, Tables, Temporary};
use ciphertax_model::AuthenticationMethod::{CachingSha2Password, Ed25519, MysqlNativePassword, UnixSocket};
use ciphertax_model::Resumption::{SessionId, Ticket};
use ciphertax_model::{AtRestAlgorithm, CertificateKind, Group, TlsVersion};

use super::at_rest::{ALL_OF_STORAGE, AtRestCapabilities};
use super::capabilities::{Capabilities, Ciphers, Cluster, VersionResumption};
use super::entry::{Entry, Product, Source, Suite};
use super::family::ServerFamily;
use super::mysql_variant::{AtRestControl, Dialect, MySqlVariant, SystemTables, TlsControl};

/// The MariaDB of the distribution; described is that of Debian 12.
pub static MARIADB: Entry = Entry {
    name: "mariadb",
    product: Product::MariaDb,
    version: "10.11 on Debian 12",
    tls_library: "OpenSSL 3.0",
    capabilities: Capabilities {
        server: "mariadb",
        tls_versions: &TlsVersion::ALL,
        certificates: &CertificateKind::ALL,
        groups: &[Group::X25519, Group::P256, Group::P384],
        ciphers: Ciphers::Without(&["CCM"]),
        resumption: &OPENSSL_RESUMPTION,
        authentication: &[MysqlNativePassword, Ed25519, UnixSocket],
        forget_passwords: None,
        several_addresses: true,
        secure_renegotiation: true,
        direct_tls: false,
        cluster: Some(Cluster::Galera),
        at_rest: AtRestCapabilities {
            parts: &[Tables, RedoLog, BinaryLog, Temporary, Aria],
            algorithms: &[AtRestAlgorithm::AesCbc, AtRestAlgorithm::AesCtr],
            encryption_threads: true,
            sqlcipher: false,
        },
        storage: ALL_OF_STORAGE,
    },
    source: Source::Apt {
        suite: Suite::OfTheMachine,
        package: "mariadb-server-core",
        plugins: "mariadb-server",
        beside: &[],
        version: "",
    },
    family: ServerFamily::MySql(DEBIAN),
};

/// MariaDB 11.8 of Debian unstable: post-quantum groups.
pub static MARIADB_11_8: Entry = Entry {
    name: "mariadb-11.8",
    version: "11.8",
    tls_library: "OpenSSL 3.6",
    capabilities: Capabilities {
        server: "mariadb-11.8",
        groups: &Group::ALL,
        // Debian's Galera is for the release of the machine.
        cluster: None,
        authentication: &[MysqlNativePassword, CachingSha2Password, Ed25519, UnixSocket],
        ..MARIADB.capabilities
    },
    source: Source::Apt {
        suite: Suite::DebianUnstable,
        package: "mariadb-server-core",
        plugins: "mariadb-server",
        beside: &[],
        version: "11.8",
    },
    family: ServerFamily::MySql(MySqlVariant {
        plugins: &[
            (Ed25519, "auth_ed25519"),
            (CachingSha2Password, "auth_mysql_sha2"),
        ],
        ..DEBIAN
    }),
    ..MARIADB
};

const DEBIAN: MySqlVariant = MySqlVariant {
    system_tables: SystemTables::Bootstrap,
    dialect: Dialect::MariaDb,
    plugins: &[(Ed25519, "auth_ed25519")],
    tls_control: TlsControl::OpenSsl,
    settings: &[],
    at_rest: AtRestControl::FileKeyManagement {
        temporary_tablespace: true,
    },
};

/// The server keeps sessions by their id until TLS 1.2, and gives tickets in every version.
pub(super) const OPENSSL_RESUMPTION: [VersionResumption; 4] = [
    VersionResumption {
        version: TlsVersion::V1_0,
        by: &[SessionId, Ticket],
    },
    VersionResumption {
        version: TlsVersion::V1_1,
        by: &[SessionId, Ticket],
    },
    VersionResumption {
        version: TlsVersion::V1_2,
        by: &[SessionId, Ticket],
    },
    VersionResumption {
        version: TlsVersion::V1_3,
        by: &[Ticket],
    },
];
