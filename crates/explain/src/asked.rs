//! What a study asks of an arm in a cell: only answers to the same question can be compared.
//!
//! Where it was asked, of which version, on which machine and how it was set, may differ: that is what comparisons
//! are about, and stands in [`crate::facts`]. Which database a cost is of belongs to the question: what it costs on
//! one says nothing of what it costs on another.

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_model::workload::Tables;
use ciphertax_model::{Arm, Cell, Certificate, Study};
use ciphertax_records::{Run, ServerRecord, is_of_mysqls_family};
use serde::Serialize;
use serde_json::{Value, json};

/// What an arm asks for, whatever it is called.
pub(crate) fn of_arm(arm: &Arm) -> Value {
    let mut asked = json!(arm);
    // A table in which all is as usual is left out of records, and would seem not to be asked for.
    asked["tls"] = json!(arm.tls);
    asked["authentication"] = json!(arm.authentication);
    asked["at_rest"] = json!(arm.at_rest);
    asked["name"].take();
    // That of the whole process, for which runs are compared.
    asked
        .pointer_mut("/at_rest/sqlcipher/memory_security")
        .map(Value::take);
    asked
}

/// What a cell asks of a database: the workload, how hard, over which distance, and of which tables.
pub(crate) fn of_cell(study: &Study, cell: &Cell) -> Value {
    let tables = match cell.workload.descriptor().tables {
        None | Some(Tables::Bulk) => Value::Null,
        Some(Tables::Sbtest) => json!({ "dataset": study.dataset }),
        Some(Tables::Usertable) => json!({ "ycsb": study.ycsb }),
        Some(Tables::Pgbench) => json!({ "pgbench": study.pgbench }),
        Some(Tables::Tpcc) => json!({ "tpcc": study.tpcc }),
        Some(Tables::OfLookup | Tables::All) => json!({ "dataset": study.dataset, "ycsb": study.ycsb }),
    };
    json!({
        "workload": cell.workload,
        "load": cell.load,
        "command": cell.command,
        "mix": cell.ycsb_mix(),
        "link": study.link(cell),
        "replica_set": cell.replica_set.or(study.replica_set),
        "nodes": study.server_spec(cell).nodes,
        "node_link": study.node_link(cell),
        "read_preference": study.read_preference(cell),
        "tables": tables,
    })
}

/// The certificates that are asked of the servers of a cell's baseline and of an arm of it, which a cell or the study may say; null
/// for an arm that is shown none.
pub(crate) fn of_certificates(study: &Study, cell: &Cell, arm: &Arm) -> Value {
    let spec = study.server_spec(cell);
    let shown = |arm: &Arm| -> Option<Certificate> {
        arm.transport
            .is_encrypted()
            .then(|| study.certificate_of(arm, &spec))
    };
    json!({ "certificate": shown(arm), "baseline's certificate": study.arms.first().and_then(shown) })
}

/// The databases of all servers of a run, each once.
pub(crate) fn of_run(run: &Run) -> Vec<String> {
    let servers = run.head.servers.iter();
    let found: BTreeSet<String> = servers.filter_map(|server| of_server(run, server)).collect();
    found.into_iter().collect()
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

impl Spoken {
    /// By the server's URL: its product may be any.
    pub(crate) fn by(target: &str) -> Option<Self> {
        match target.split_once("://")?.0 {
            "mysql" | "mariadb" => Some(Self::MySql),
            "postgres" | "postgresql" => Some(Self::PostgreSql),
            "mongodb" => Some(Self::MongoDb),
            _ => None,
        }
    }
}

/// The database of a server: MySQL's, MariaDB's and what speaks their protocol are one, so that they can be compared; `None` where
/// the record does not say.
pub(crate) fn of_server(run: &Run, server: &ServerRecord) -> Option<String> {
    match run.head.target.as_deref().and_then(Spoken::by) {
        Some(Spoken::MySql) => Some("MySQL".into()),
        Some(Spoken::PostgreSql) => Some("PostgreSQL".into()),
        Some(Spoken::MongoDb) => Some("MongoDB".into()),
        None if is_of_mysqls_family(&server.product) => Some("MySQL".into()),
        None => Some(server.product.clone()).filter(|product| !product.is_empty()),
    }
}

/// The keys in which the values of two runs differ, as study files write them, with both of their values in a sentence.
pub(crate) fn differing<T: Serialize>(one: (&str, &T), other: (&str, &T)) -> Vec<String> {
    let (here, there) = (keys(one.1), keys(other.1));
    let all: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
    let said = |value: Option<&String>| value.cloned().unwrap_or("not set".into());
    all.into_iter()
        .filter(|key| here.get(*key) != there.get(*key))
        .map(|key| {
            let (here, there) = (said(here.get(key)), said(there.get(key)));
            format!("{key} is {there} in {} and {here} in {}", other.0, one.0)
        })
        .collect()
}

/// Every key with its value, those of tables by their whole path.
pub(crate) fn keys<T: Serialize>(value: &T) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Ok(value) = serde_json::to_value(value) {
        collect(&value, "", &mut found);
    }
    found
}

fn collect(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                collect(value, &path, found);
            }
        }
        Value::Null => {}
        other => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            found.insert(path.to_owned(), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_named_by_its_key() {
        let one = json!({ "transport": "tls1.3", "tls": { "library": "openssl" }, "n": 8 });
        let other = json!({ "transport": "tls1.3", "n": 4 });
        assert_eq!(
            differing(("a", &one), ("b", &other)),
            [
                "n is 4 in b and 8 in a",
                "tls.library is not set in b and openssl in a"
            ]
        );
        assert!(differing(("a", &one), ("b", &one)).is_empty());
    }
}
