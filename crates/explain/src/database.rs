//! Which database a cost is of: what it costs on one says nothing of what it costs on another.

use ciphertax_records::{Run, ServerRecord, is_of_mysqls_family};

/// The databases of all servers of a run, each once.
pub(crate) fn of_run(run: &Run) -> Vec<String> {
    let servers = run.head.servers.iter();
    let mut found: Vec<String> = servers.filter_map(|server| of_server(run, server)).collect();
    found.sort();
    found.dedup();
    found
}

/// What the servers of a run are, each product once: `MariaDB`.
pub(crate) fn products(run: &Run) -> String {
    let servers = run.head.servers.iter();
    let mut products: Vec<&str> = servers.map(|server| server.product.as_str()).collect();
    products.sort_unstable();
    products.dedup();
    products.join(", ")
}

/// What a server of the user's own speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    MySql,
    PostgreSql,
    MongoDb,
}

/// What the target of a run speaks, by its URL: its product may be any. `None` without a target.
pub(crate) fn of_target(run: &Run) -> Option<Spoken> {
    let (scheme, _) = run.head.target.as_deref()?.split_once("://")?;
    match scheme {
        "mysql" | "mariadb" => Some(Spoken::MySql),
        "postgres" | "postgresql" => Some(Spoken::PostgreSql),
        "mongodb" => Some(Spoken::MongoDb),
        _ => None,
    }
}

/// The database of a server: MySQL's, MariaDB's and what speaks their protocol are one, so that they can be compared; `None` where
/// the record does not say.
pub(crate) fn of_server(run: &Run, server: &ServerRecord) -> Option<String> {
    match of_target(run) {
        Some(Spoken::MySql) => Some("MySQL".into()),
        Some(Spoken::PostgreSql) => Some("PostgreSQL".into()),
        Some(Spoken::MongoDb) => Some("MongoDB".into()),
        None if is_of_mysqls_family(&server.product) => Some("MySQL".into()),
        None => Some(server.product.clone()).filter(|product| !product.is_empty()),
    }
}
