//! MySQL as Debian unstable builds it, with OpenSSL.

use ciphertax_model::AuthenticationMethod::{CachingSha2Password, Sha256Password, UnixSocket};
use ciphertax_model::Resumption::{SessionId, Ticket};
use ciphertax_model::{AtRestPart, CertificateKind, Group, TlsVersion};

use super::at_rest::{ALL_OF_STORAGE, AtRestCapabilities};
use super::capabilities::{Capabilities, Ciphers, Cluster, VersionResumption};
use super::entry::{Entry, Product, Source, Suite};
use super::family::ServerFamily;
use super::mysql_variant::{AtRestControl, Dialect, MySqlVariant, SystemTables, TlsControl};

/// MySQL 9.7.
pub static MYSQL: Entry = Entry {
    name: "mysql",
    product: Product::MySql,
    version: "9.7",
    tls_library: "OpenSSL 3.6",
    capabilities: Capabilities {
        server: "mysql",
        tls_versions: &[TlsVersion::V1_2, TlsVersion::V1_3],
        certificates: &[
            CertificateKind::EcdsaP256,
            CertificateKind::EcdsaP384,
            CertificateKind::Ed25519,
            CertificateKind::Rsa2048,
            CertificateKind::Rsa3072,
            CertificateKind::Rsa4096,
        ],
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
            VersionResumption {
                version: TlsVersion::V1_2,
                by: &[SessionId, Ticket],
            },
            VersionResumption {
                version: TlsVersion::V1_3,
                by: &[Ticket],
            },
        ],
        authentication: &[CachingSha2Password, Sha256Password, UnixSocket],
        forget_passwords: Some("FLUSH PRIVILEGES"),
        several_addresses: true,
        secure_renegotiation: true,
        direct_tls: false,
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
    },
    source: Source::Apt {
        suite: Suite::DebianUnstable,
        package: "mysql-server-core",
        plugins: "",
        beside: &[],
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
