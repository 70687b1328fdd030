//! How PostgreSQL spells things: as sysbench does for it, where sysbench does.

use crate::sql::dialect::TRUNCATE;
use crate::sql::{BytesInLines, Dialect, Loading, Placeholders, Transactions};

pub(super) const DIALECT: Dialect = Dialect {
    placeholders: Placeholders::Numbered,
    quote: '"',
    identity: "SERIAL",
    next_identity: None,
    last_identity: "lastval()",
    continue_identity: Some(|table, last| format!("SELECT setval('{table}_id_seq', {last})")),
    storage: "",
    bytes: "BYTEA",
    around_bytes: ["'\\x", "'"],
    bytes_in_lines: BytesInLines::Hexadecimal,
    text: |_| "TEXT",
    // The order of a database's own language may be another, and is slower.
    bytewise: " COLLATE \"C\"",
    bytewise_ascii: " COLLATE \"C\"",
    short_bytes: |_| "BYTEA".to_owned(),
    date: "TIMESTAMP(0)",
    loading: Loading::Copy,
    vacuum: Some("VACUUM ANALYZE "),
    analyze: "VACUUM ANALYZE ",
    derive_once: None,
    begin_to_write: "BEGIN",
    end: "END",
    empty: TRUNCATE,
    wanted_key: None,
    primary_key: |table| format!("{table}_pkey"),
    index_columns,
    tables,
    // The information schema shows only what the account has rights to.
    schema: |schema| format!("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '{schema}'"),
    other_objects,
    must_stay: Some(must_stay),
    with_contents: " CASCADE",
    for_update: " FOR UPDATE",
    before_rows: "",
    backslash: r"\",
    transactions: Transactions::Begun,
};

fn index_columns(schema: &str, table: &str, index: &str) -> String {
    format!(
        "SELECT attribute.attname FROM pg_catalog.pg_index AS entry \
         JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.indrelid \
         JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace \
         JOIN pg_catalog.pg_class AS index ON index.oid = entry.indexrelid \
         JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = index.oid \
         WHERE namespace.nspname = '{schema}' AND relation.relname = '{table}' AND index.relname = '{index}' \
         AND entry.indisvalid ORDER BY attribute.attnum"
    )
}

/// The information schema shows only those that the account has rights to.
fn tables(schema: &str, beginning: &str) -> String {
    format!(
        "SELECT relname FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f') \
         AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '{schema}') \
         AND relname LIKE '{beginning}%'"
    )
}

/// Whatever is in the schema is said to depend on it.
fn other_objects(schema: &str) -> Vec<String> {
    vec![format!(
        "SELECT 1 FROM pg_catalog.pg_depend WHERE refclassid = 'pg_catalog.pg_namespace'::regclass \
         AND refobjid = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '{schema}') LIMIT 1"
    )]
}

/// A schema that somebody else made for the account, or that it made when it still had the right to.
fn must_stay(schema: &str) -> String {
    format!(
        "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '{schema}' \
         AND NOT (pg_catalog.pg_has_role(nspowner, 'USAGE') \
         AND pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'))"
    )
}
