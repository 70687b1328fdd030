//! TiDB as one process, with the store that is built into it for tests: its protocol and its TLS are those of a cluster, its
//! writes are not.
//!
//! It is in no package, but Go builds it from its module.

use ciphertax_model::AuthenticationMethod::MysqlNativePassword;
use ciphertax_model::Resumption::Ticket;
use ciphertax_model::{CertificateKind, Group, TlsVersion};

use super::at_rest::{AtRestCapabilities, StorageCapabilities};
use super::capabilities::{Capabilities, Ciphers, VersionResumption};
use super::entry::{Entry, Product, Source};
use super::family::ServerFamily;

/// TiDB as of the 23rd of December 2021, of a branch of the releases 5.0: the latest version that Go takes as a module and builds.
pub static TIDB: Entry = Entry {
    name: "tidb",
    product: Product::TiDb,
    version: "of 2021-12-23",
    tls_library: "Go's crypto/tls",
    capabilities: Capabilities {
        server: "tidb",
        tls_versions: &[TlsVersion::V1_2, TlsVersion::V1_3],
        certificates: &CertificateKind::ALL,
        groups: &[Group::X25519MlKem768, Group::X25519, Group::P256, Group::P384],
        ciphers: Ciphers::Only(&[
            "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
            "ECDHE-RSA-AES128-GCM-SHA256",
            "ECDHE-RSA-AES256-GCM-SHA384",
            "ECDHE-RSA-CHACHA20-POLY1305",
            "ECDHE-ECDSA-AES128-SHA",
            "ECDHE-ECDSA-AES256-SHA",
            "ECDHE-RSA-AES128-SHA",
            "ECDHE-RSA-AES256-SHA",
        ]),
        resumption: &[
            VersionResumption {
                version: TlsVersion::V1_2,
                by: &[Ticket],
            },
            VersionResumption {
                version: TlsVersion::V1_3,
                by: &[Ticket],
            },
        ],
        authentication: &[MysqlNativePassword],
        forget_passwords: None,
        several_addresses: false,
        secure_renegotiation: true,
        direct_tls: false,
        cluster: None,
        at_rest: AtRestCapabilities {
            file_system: false,
            ..AtRestCapabilities::NONE
        },
        storage: StorageCapabilities {
            settings: &[],
            least_memory_mb: 0,
        },
    },
    source: Source::Go {
        module: "github.com/pingcap/tidb",
        version: "v1.1.0-beta.0.20211223113747-6416f8d60147",
        sum: "h1:ssazxMUcDR/SO239qtP7Q/yVrynuDLTdTE3d8J89Z1s=",
        package: "tidb-server",
        // What it says of itself.
        revision: (
            "github.com/pingcap/tidb/util/versioninfo.TiDBGitHash",
            "6416f8d60147",
        ),
    },
    family: ServerFamily::TiDb,
};
