//! PostgreSQL as Debian builds it, with OpenSSL.
//!
//! PostgreSQL resumes no session, in any version: it switches tickets and the cache of sessions off.

use ciphertax_model::AuthenticationMethod::{Cert, Md5, Password, ScramSha256, ScramSha256Plus, Trust};
use ciphertax_model::{CertificateKind, Group, TlsVersion};

use super::at_rest::{AtRestCapabilities, MEMORY_ALONE};
use super::capabilities::{Capabilities, Ciphers};
use super::entry::{Entry, Product, Source, Suite};
use super::family::ServerFamily;
use super::postgresql_variant::{GroupControl, PostgreSqlVariant};

/// The PostgreSQL of the distribution; described is that of Debian 12.
pub static POSTGRESQL: Entry = Entry {
    name: "postgresql",
    product: Product::PostgreSql,
    version: "15 on Debian 12",
    tls_library: "OpenSSL 3.0",
    capabilities: Capabilities {
        server: "postgresql",
        tls_versions: &TlsVersion::ALL,
        certificates: &CertificateKind::ALL,
        // It offers one curve at a time, and the one by default.
        groups: &[Group::P256],
        ciphers: Ciphers::Without(&["CCM"]),
        resumption: &[],
        authentication: &[ScramSha256, ScramSha256Plus, Md5, Password, Trust, Cert],
        forget_passwords: None,
        several_addresses: true,
        secure_renegotiation: true,
        direct_tls: false,
        cluster: None,
        at_rest: AtRestCapabilities::NONE,
        storage: MEMORY_ALONE,
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
        server: "postgresql-18",
        groups: &Group::ALL,
        direct_tls: true,
        ..POSTGRESQL.capabilities
    },
    source: Source::Apt {
        suite: Suite::DebianUnstable,
        package: "postgresql-18",
        plugins: "",
        // A release that knows prepared statements where transactions share connections.
        beside: &["pgbouncer"],
        version: "18",
    },
    family: ServerFamily::PostgreSql(PostgreSqlVariant {
        groups: GroupControl::Several,
    }),
    ..POSTGRESQL
};
