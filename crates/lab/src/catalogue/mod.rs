//! The servers that ciphertax can get, start and stop by itself, and what each of them can do.
//!
//! An [`Entry`] is pure data: where a server comes from, to which family it belongs, and what it can do. A new server
//! is one more entry, in a file of its own or in that of its family. The code that starts it is looked up by its family,
//! in `server/family.rs`.

pub(crate) mod capabilities;
pub(crate) mod entry;
mod mariadb;
mod mysql;
mod other_families;

pub use capabilities::{
    AtRestCapabilities, Capabilities, Ciphers, Cluster, StorageCapabilities, VersionResumption,
};
pub use entry::{Entry, Product};
pub(crate) use entry::{ServerFamily, Source, Suite};
pub use mariadb::{MARIADB, MARIADB_10_2, MARIADB_10_11_WOLFSSL, MARIADB_11_4_WOLFSSL, MARIADB_11_8};
pub(crate) use mysql::{AtRestControl, Dialect, MySqlVariant, SystemTables, TlsControl};
pub use mysql::{MYSQL, MYSQL_5_6};
pub(crate) use other_families::{GroupControl, PostgreSqlVariant};
pub use other_families::{MONGODB, POSTGRESQL, POSTGRESQL_18};

pub use crate::sqlite::entry::SQLITE;
pub use ciphertax_wire::Protocol;

/// Every server, in the order lists show them.
pub static CATALOGUE: [&Entry; 11] = [
    &MARIADB,
    &MARIADB_11_8,
    &MYSQL,
    &MYSQL_5_6,
    &MARIADB_10_2,
    &MARIADB_10_11_WOLFSSL,
    &MARIADB_11_4_WOLFSSL,
    &MONGODB,
    &POSTGRESQL,
    &POSTGRESQL_18,
    &SQLITE,
];

/// The server of this name; `None` if there is none.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.into_iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use ciphertax_model::AuthenticationMethod;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        for entry in CATALOGUE {
            assert_eq!(find(entry.name), Some(entry));
        }
        assert_eq!(find("oracle"), None);
    }

    #[test]
    fn a_server_logs_in_by_methods_of_its_own_protocol() {
        for entry in CATALOGUE {
            let mut methods = entry.capabilities.authentication.iter();
            assert!(methods.len() > 0, "{}", entry.name);
            let is_its_own = |method: &AuthenticationMethod| match entry.protocol() {
                Some(Protocol::MongoDb) => method.is_of_mongodb(),
                Some(Protocol::PostgreSql) => method.is_of_postgresql(),
                Some(Protocol::MySql) => !method.is_of_mongodb() && !method.is_of_postgresql(),
                None => *method == AuthenticationMethod::NoLogin,
            };
            assert!(methods.all(is_its_own), "{}", entry.name);
        }
    }
}
