//! What the clients of a server speak.

use std::fmt;

/// What the clients of a server speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// That of MySQL and MariaDB.
    MySql,
    /// That of MongoDB.
    MongoDb,
    /// That of PostgreSQL.
    PostgreSql,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MySql => "MySQL",
            Self::MongoDb => "MongoDB",
            Self::PostgreSql => "PostgreSQL",
        })
    }
}
