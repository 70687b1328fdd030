//! The kinds of servers that there are, and what is to be known of each.

use std::fmt;
use std::path::{Path, PathBuf};

use ciphertax_wire::Protocol;
use serde::Serialize;

use super::mysql_variant::MySqlVariant;
use super::postgresql_variant::PostgreSqlVariant;

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
    /// What its clients speak; `None` for a database that runs in its client.
    pub(crate) fn protocol(self) -> Option<Protocol> {
        match self {
            Self::MySql(_) => Some(Protocol::MySql),
            Self::MongoDb => Some(Protocol::MongoDb),
            Self::PostgreSql(_) => Some(Protocol::PostgreSql),
            Self::Sqlite => None,
        }
    }

    /// Its server program.
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
    folders: &["usr/sbin", "bin", "usr/libexec"],
    version_options: &["--no-defaults", "--version"],
    version_mark: "Ver",
    companions: &[],
};

/// `db version v6.0.5`
const MONGODB_PROGRAM: ServerProgram = ServerProgram {
    names: &["mongod"],
    folders: &["bin"],
    version_options: &["--version"],
    version_mark: "version",
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
    ],
    version_options: &["--version"],
    version_mark: "(PostgreSQL)",
    companions: &[
        "initdb",
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
    companions: &[],
};
